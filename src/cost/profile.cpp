#include "penstock/cost/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "batch_size.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/yaml.hpp"

namespace penstock::cost {
namespace {

using core::Yaml;

Curve read_curve(const Yaml& node, double share) {
  std::map<std::int64_t, double> points;
  for (const auto& [key, value] : node.entries())
    if (!points.emplace(batch_size(key, value), value.seconds().value() * share).second)
      value.fail("the batch size stands twice");
  if (points.empty()) node.fail("expected at least one batch size");
  Curve curve;
  for (const auto& [samples, seconds] : points) {
    curve.samples.push_back(samples);
    curve.seconds.push_back(seconds);
  }
  return curve;
}

ProfileCosts::Entry read_entry(const Yaml& node) {
  node.only({"forward", "backward", "total"});
  if (const auto total = node.find("total")) {
    if (node.find("forward") || node.find("backward"))
      node.fail("give either total, or forward and backward");
    return {read_curve(*total, 1.0 / 3), read_curve(*total, 2.0 / 3)};
  }
  return {read_curve(node.at("forward"), 1), read_curve(node.at("backward"), 1)};
}

ProfileCosts read(const Yaml& root) {
  root.only({"penstock_profile", "device", "operators"});
  root.at("penstock_profile").integer(1, 1);
  std::map<std::string, ProfileCosts::Entry> entries;
  for (const auto& [op, node] : root.at("operators").entries()) entries.emplace(op, read_entry(node));
  return ProfileCosts(root.at("device").text(), std::move(entries));
}

}  // namespace

double Curve::at(std::int64_t n) const {
  if (n <= samples.front()) return seconds.front();
  if (samples.size() == 1) return seconds[0] * static_cast<double>(n) / static_cast<double>(samples[0]);
  const auto above = std::lower_bound(samples.begin() + 1, samples.end() - 1, n);
  const auto i = static_cast<std::size_t>(above - samples.begin());
  const double share =
      static_cast<double>(n - samples[i - 1]) / static_cast<double>(samples[i] - samples[i - 1]);
  return std::max(0.0, seconds[i - 1] + share * (seconds[i] - seconds[i - 1]));
}

OpTime ProfileCosts::op_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType&,
                             std::int64_t samples) const {
  const graph::Operator& op = graph.op(id);
  const auto entry = entries_.find(op.name);
  if (entry == entries_.end()) {
    if (op.kind == graph::OpKind::input || op.kind == graph::OpKind::reshape) return {};
    throw core::BadInput(fmt::format("the profile of {} has no operator '{}'", device_, op.name));
  }
  const core::Seconds forward(entry->second.forward.at(samples)),
      backward(entry->second.backward.at(samples));
  if (op.parameters == 0) return {forward, backward, core::Seconds(0)};
  return {forward, backward * 0.5, backward * 0.5};
}

namespace {

std::string to_text(const Curve& curve) {
  std::string out;
  for (std::size_t i = 0; i < curve.samples.size(); ++i)
    out += fmt::format("{}{}: {}s", i == 0 ? "" : ", ", curve.samples[i], curve.seconds[i]);
  return out;
}

}  // namespace

std::string to_yaml(const ProfileCosts& profile) {
  std::string out = fmt::format("penstock_profile: 1\ndevice: {}\noperators:{}\n",
                                core::quoted(profile.device()), profile.entries().empty() ? " {}" : "");
  for (const auto& [name, entry] : profile.entries())
    out += fmt::format("  {}: {{forward: {{{}}}, backward: {{{}}}}}\n", core::quoted(name),
                       to_text(entry.forward), to_text(entry.backward));
  return out;
}

ProfileCosts load_profile(const std::string& path) {
  return read(Yaml::load(path));
}
ProfileCosts parse_profile(const std::string& text, const std::string& file) {
  return read(Yaml::parse(text, file));
}

}  // namespace penstock::cost
