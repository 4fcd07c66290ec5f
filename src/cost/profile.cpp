#include "penstock/cost/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "batch_size.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/cost/plausible.hpp"
#include "profile_workload.hpp"
#include "quantized.hpp"

namespace penstock::cost {
namespace {

using core::Yaml;

TimeCurve read_curve(const Yaml& node, double share) {
  std::map<std::int64_t, double> points;
  for (const auto& [key, value] : node.entries())
    if (!points.emplace(batch_size(key, value), value.seconds().value() * share).second)
      value.fail("the batch size appears twice");
  if (points.empty()) node.fail("expected at least one batch size");
  TimeCurve curve;
  for (const auto& [samples, seconds] : points) {
    curve.samples.push_back(samples);
    curve.seconds.push_back(seconds);
  }
  if (const auto wrong = falling(curve.samples, curve.seconds); !wrong.empty()) node.fail(wrong);
  return curve;
}

ProfileCosts::OperatorCurves read_entry(const Yaml& node) {
  node.only({"forward", "backward", "total"});
  if (const auto total = node.find("total")) {
    if (node.find("forward") || node.find("backward"))
      node.fail("give either total, or forward and backward");
    return {read_curve(*total, 1.0 / 3), read_curve(*total, 2.0 / 3)};
  }
  return {read_curve(node.at("forward"), 1), read_curve(node.at("backward"), 1)};
}

ProfileCosts read(const Yaml& root) {
  root.only({"penstock_profile", "device", "operators", "workload"});
  root.at("penstock_profile").integer(1, 1);
  std::map<std::string, ProfileCosts::OperatorCurves> entries;
  for (const auto& [op, node] : root.at("operators").entries()) entries.emplace(op, read_entry(node));
  std::optional<graph::PiperWorkload> workload;
  if (const auto node = root.find("workload")) workload = read_workload(*node);
  return ProfileCosts(root.at("device").text(), std::move(entries), std::move(workload), root.place().file);
}

}  // namespace

double TimeCurve::at(std::int64_t n, double launch) const {
  const auto size = static_cast<double>(n), smallest = static_cast<double>(samples.front());
  if (n < samples.front()) {
    const double fixed = this->fixed(launch);
    return fixed + (seconds.front() - fixed) * size / smallest;
  }
  if (samples.size() == 1) return seconds[0] * size / smallest;
  const auto above = std::lower_bound(samples.begin() + 1, samples.end() - 1, n);
  const double time = line(static_cast<std::size_t>(above - samples.begin()) - 1, size);
  return n > samples.back() ? std::max(seconds.back(), time) : time;
}

double TimeCurve::fixed(double launch) const {
  return std::clamp(samples.size() > 1 ? line(0, 0) : launch, 0.0, seconds.front());
}

double TimeCurve::line(std::size_t i, double n) const {
  const double share =
      (n - static_cast<double>(samples[i])) / static_cast<double>(samples[i + 1] - samples[i]);
  return seconds[i] + share * (seconds[i + 1] - seconds[i]);
}

TimeOrigin TimeCurve::origin(std::int64_t n) const {
  if (std::binary_search(samples.begin(), samples.end(), n)) return TimeOrigin::measured;
  return n > samples.front() && n < samples.back() ? TimeOrigin::interpolated : TimeOrigin::extrapolated;
}

namespace {

/// The nearest measured times, or times in proportion to them, bound the estimate. A device of a tensor-parallel
/// group takes the whole fixed part, and `part` of the rest.
PassEstimate estimate_of(const TimeCurve& curve, std::int64_t n, double launch, double part) {
  const double time = curve.at(n, launch);
  double one = time, other = time;
  if (const TimeOrigin origin = curve.origin(n); origin == TimeOrigin::interpolated) {
    const auto above = std::lower_bound(curve.samples.begin(), curve.samples.end(), n);
    const auto i = static_cast<std::size_t>(above - curve.samples.begin());
    one = curve.seconds[i - 1], other = curve.seconds[i];
  } else if (origin == TimeOrigin::extrapolated) {
    const std::size_t end = n < curve.samples.front() ? 0 : curve.samples.size() - 1;
    one = curve.seconds[end];
    other = one * static_cast<double>(n) / static_cast<double>(curve.samples[end]);
  }
  const auto mine = [&](double whole) {
    const double fixed = std::min(whole, curve.fixed(launch));
    return core::Seconds(fixed + (whole - fixed) * part);
  };
  return {mine(time), mine(std::min({time, one, other})), mine(std::max({time, one, other})),
          curve.origin(n)};
}

}  // namespace

OpEstimate ProfileCosts::estimate(const graph::OpGraph& graph, core::OpId id,
                                  const cluster::DeviceType& device, std::int64_t samples,
                                  const OpShard& part) const {
  if (part.partition == plan::Partition::batch)
    return estimate(graph, id, device, samples_of(samples, part.part), {});
  const graph::Operator& op = graph.op(id);
  require_stored(*this, op);
  const auto entry = entries_.find(op.name);
  if (entry == entries_.end()) {
    if (op.kind == graph::OpKind::input || op.kind == graph::OpKind::reshape) return {};
    throw core::BadInput({file_, 0, "operators"},
                         fmt::format("the profile of {} has no operator '{}'", device_, op.name));
  }
  const bool weighs = op.parameters > 0;
  const double launch = device.launch_overhead.value(),
               share = part.partition == plan::Partition::whole ? 1 : part.part;
  const PassEstimate forward = estimate_of(entry->second.forward, samples, launch, share),
                     backward =
                         estimate_of(entry->second.backward, samples, weighs ? 2 * launch : launch, share);
  if (!weighs) return {{forward, backward, {}}};
  return {{forward, scaled(backward, 0.5), scaled(backward, 0.5)}};
}

cluster::DeviceType ProfileCosts::measured_device() const {
  cluster::DeviceType out{};
  out.name = device_;
  return out;
}

OpTime ProfileCosts::op_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                             std::int64_t samples) const {
  return estimate(graph, id, device, samples).time();
}

namespace {

std::string to_text(const TimeCurve& curve) {
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
  if (profile.workload()) out += workload_yaml(*profile.workload());
  return out;
}

ProfileCosts load_profile(const std::string& path) {
  return read(Yaml::load(path));
}
ProfileCosts parse_profile(const std::string& text, const std::string& file) {
  return read(Yaml::parse(text, file));
}

}  // namespace penstock::cost
