#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/experiment/measured_runs.hpp"

namespace penstock::experiment {
namespace {

/// A line without what it says of the constants that are known now.
std::string without_constants(const std::string& line, const FittedCluster& fitted) {
  std::string names = "kernel_slowdown";
  if (fitted.host_launch) names += "|host_launch|runtime";
  if (fitted.reserved) names += "|reserved";
  return std::regex_replace(line, std::regex("\\b(" + names + R"(): *[^,{}]+,? *)"), "");
}

bool states(const cluster::DeviceType& type, const FittedCluster& fitted) {
  constexpr double kRounding = 1e-8;
  return std::abs(type.kernel_slowdown - fitted.kernel_slowdown) < kRounding &&
         (!fitted.reserved || type.reserved == *fitted.reserved) &&
         (!fitted.host_launch ||
          std::abs(type.runtime.one_kernel().value() - fitted.host_launch->value()) < kRounding);
}

}  // namespace

std::string constant_keys(const FittedCluster& fitted) {
  std::string out = fmt::format("kernel_slowdown: {:.4f}", fitted.kernel_slowdown);
  if (fitted.host_launch) out += fmt::format(", host_launch: {:.2f}us", fitted.host_launch->value() * 1e6);
  if (fitted.reserved) out += fmt::format(", reserved: {}B", fitted.reserved->value());
  return out;
}

/// Types stand further in than `device_types:`, all equally far. The result is read back, so that another
/// form of the file is an error and no wrong file.
std::string with_constants(const std::string& text, const std::string& file, const FittedCluster& fitted) {
  static const std::regex type(R"(^( +)([^ :#][^:#]*: *\{)(.*)$)");
  std::istringstream in(text);
  std::string out, indent;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != ' ' && line[0] != '#') inside = line.starts_with("device_types:");
    if (inside) line = without_constants(line, fitted);
    std::smatch parts;
    if (inside && std::regex_match(line, parts, type) && (indent.empty() || parts[1] == indent)) {
      indent = parts[1];
      line = fmt::format("{}{}{}, {}", indent, parts[2].str(), constant_keys(fitted), parts[3].str());
    }
    out += line + "\n";
  }
  const cluster::Cluster read = cluster::parse_cluster(out, file);
  if (!std::ranges::all_of(read.types(), [&](const auto& one) { return states(one, fitted); }))
    throw core::BadInput({file, 0, "device_types"},
                         "put these keys into each device type by hand: " + constant_keys(fitted));
  return out;
}

}  // namespace penstock::experiment
