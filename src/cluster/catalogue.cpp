#include "penstock/cluster/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "built_in.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::cluster {

std::string BuiltIn::summary() const {
  std::string out;
  for (std::string_view rest = text; rest.starts_with("# ");) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    out += (out.empty() ? "" : " ") + std::string(line.substr(2));
    rest.remove_prefix(line.size() + 1);
  }
  return out.substr(0, std::min(out.find(". "), out.size() - out.ends_with('.')));
}

const std::vector<BuiltIn>& catalogue() {
  static const std::vector<BuiltIn> all(std::begin(kBuiltIn), std::end(kBuiltIn));
  return all;
}

bool is_file_name(std::string_view name) {
  return name.find_first_of("./") != std::string_view::npos;
}

namespace {

bool is_short_form(const std::string& name) {
  try {
    return parse_short_form(name).has_value();
  } catch (const core::BadInput&) {
    return false;
  }
}

/// Returns "8xH100" for "H100x8"; empty for names without that form.
std::string other_way_round(const std::string& name) {
  const auto at = name.rfind('x');
  if (at == name.npos) return "";
  const std::string swapped = name.substr(at + 1) + "x" + name.substr(0, at);
  return is_short_form(swapped) ? swapped : "";
}

}  // namespace

std::string cluster_text(const std::string& name) {
  if (is_file_name(name)) return core::read_file(name);
  if (const auto form = parse_short_form(name)) return to_yaml(*form, name);
  std::vector<std::string> known;
  for (const BuiltIn& cluster : catalogue()) {
    if (cluster.name == name) return std::string(cluster.text);
    known.push_back(cluster.name);
  }
  if (const std::string other = other_way_round(name); !other.empty())
    throw core::BadInput(fmt::format(
        "'{}' is no cluster: GPUs per node stand first, then their type: did you mean '{}'?", name, other));
  if (const std::string whole = "8x" + name; is_short_form(whole))
    throw core::BadInput(fmt::format(
        "'{}' is no cluster: GPUs per node stand before their type: did you mean '{}'?", name, whole));
  throw core::BadInput("'" + name +
                       "' is no built-in cluster (and no file: those have a '.' or a '/'; nor a short form "
                       "such as 8xH100x4); " +
                       core::did_you_mean(name, known));
}

}  // namespace penstock::cluster
