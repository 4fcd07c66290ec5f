#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>
#include <utility>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/experiment/measured_runs.hpp"

namespace penstock::experiment {
namespace {

/// Removes the fitted constants from a line.
std::string without_constants(const std::string& line, const FittedCluster& fitted) {
  std::string names = "kernel_slowdown";
  if (fitted.host_launch) names += "|host_launch|runtime";
  if (fitted.reserved) names += "|reserved";
  return std::regex_replace(line, std::regex("\\b(" + names + R"(): *[^,{}]+,? *)"), "");
}

bool states(const cluster::DeviceType& type, const FittedCluster& fitted) {
  constexpr double kRounding = 1e-8;
  return std::abs(type.slowdown() - fitted.kernel_slowdown) < kRounding &&
         (!fitted.reserved || type.reserved == *fitted.reserved) &&
         (!fitted.host_launch ||
          std::abs(type.host().one_kernel().value() - fitted.host_launch->value()) < kRounding);
}

}  // namespace

std::string constant_keys(const FittedCluster& fitted) {
  std::string out = fmt::format("kernel_slowdown: {:.4f}", fitted.kernel_slowdown);
  if (fitted.host_launch) out += fmt::format(", host_launch: {:.2f}us", fitted.host_launch->value() * 1e6);
  if (fitted.reserved) out += fmt::format(", reserved: {}B", fitted.reserved->value());
  return out;
}

namespace {

std::string leading_blanks(const std::string& line) {
  return line.substr(0, std::min(line.find_first_not_of(' '), line.size()));
}

/// Splits a mapping into one line per key.
std::string as_block(std::string keys, const std::string& indent) {
  for (std::size_t at = 0; (at = keys.find(", ", at)) != std::string::npos;)
    keys.replace(at, 2, "\n" + indent);
  return indent + keys + "\n";
}

/// Lines below `device_types:`; those of a type have the indentation of the first.
class TypeLines {
 public:
  explicit TypeLines(const FittedCluster& fitted) : fitted_(fitted), keys_(constant_keys(fitted)) {}

  /// Returns the line, with the constants if it begins a type in one line, or follows the name of a type.
  std::string with(std::string line) {
    static const std::regex type("^ *[^ :#][^:#]*: *([{]?)(.*)$");
    line = without_constants(line, fitted_);
    if (std::exchange(named_, false)) return as_block(keys_, leading_blanks(line)) + line;
    std::smatch parts;
    if (!std::regex_match(line, parts, type) || (indent_ && leading_blanks(line) != *indent_)) return line;
    indent_ = leading_blanks(line);
    named_ = parts[1].length() == 0;
    if (named_) return line;
    return line.insert(static_cast<std::size_t>(parts.position(2)), keys_ + ", ");
  }

 private:
  const FittedCluster& fitted_;
  std::string keys_;
  std::optional<std::string> indent_;
  bool named_ = false;  ///< the line before was only a type's name
};

}  // namespace

/// The result is read back, so that an unsupported form is an error instead of a wrong file.
std::string with_constants(const std::string& text, const std::string& file, const FittedCluster& fitted) {
  std::istringstream in(text);
  std::string out;
  bool inside = false;
  TypeLines types(fitted);
  for (std::string line; std::getline(in, line);) {
    const bool top = !line.empty() && line[0] != ' ' && line[0] != '#';
    if (top) inside = line.starts_with("device_types:");
    out += (inside && !top ? types.with(line) : line) + "\n";
  }
  const cluster::Cluster read = cluster::parse_cluster(out, file);
  if (!std::ranges::all_of(read.types(), [&](const auto& one) { return states(one, fitted); }))
    throw core::BadInput({file, 0, "device_types"},
                         "put these keys into each device type by hand: " + constant_keys(fitted));
  return out;
}

}  // namespace penstock::experiment
