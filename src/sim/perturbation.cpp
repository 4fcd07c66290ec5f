#include "penstock/sim/perturbation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace penstock::sim {
namespace {

using trace::TaskKind;

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Devices, links and kinds of tasks that an iteration used.
struct UsedResources {
  std::set<std::size_t> devices, links;
  std::set<TaskKind> kinds;

  UsedResources(const cluster::Cluster& cluster, const trace::Trace& trace) {
    std::set<std::pair<core::DeviceId, core::DeviceId>> pairs;
    for (const trace::Span& span : trace.spans) {
      kinds.insert(span.kind);
      if (span.peer.valid())
        pairs.emplace(span.device, span.peer);
      else if (computes(span.kind))
        devices.insert(span.device.index());
    }
    for (const auto& [from, to] : pairs)
      for (const std::size_t link : cluster.route(from, to).links) links.insert(link);
  }
  bool any_of(const std::vector<Perturbation::LinkFault::FaultyLink>& left) const {
    return std::any_of(left.begin(), left.end(), [&](const auto& l) { return links.contains(l.link); });
  }
};

/// Formats a message like an error, with the place in front.
std::string at(const core::InputPlace& place, const std::string& message) {
  return core::BadInput(place, message).what();
}

constexpr const char* kIdle = "the device computes nothing";
constexpr const char* kOver = "the iteration ends before this begins";

}  // namespace

std::string_view name(JitterDistribution distribution) {
  constexpr std::array<std::string_view, 3> names = {"lognormal", "normal", "uniform"};
  return names[static_cast<std::size_t>(distribution)];
}

std::string in_words(const Perturbation& perturbation) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) parts.push_back(counted(count, what));
  };
  add(perturbation.slow_devices.size(), "slow device");
  add(perturbation.stragglers.size(), "straggler");
  std::vector<std::string> jitters;
  for (const auto& [kind, jitter] : perturbation.jitter)
    jitters.push_back(
        fmt::format("{} {} {:g}%", trace::name(kind), name(jitter.distribution), jitter.width * 100));
  if (!jitters.empty()) parts.push_back(fmt::format("jitter ({})", fmt::join(jitters, ", ")));
  add(perturbation.link_faults.size(), "link fault");
  if (perturbation.lengths) parts.push_back(in_words(*perturbation.lengths));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> unmet(const Perturbation& perturbation, const cluster::Cluster& cluster,
                               const trace::Trace& trace) {
  const UsedResources met(cluster, trace);
  std::vector<std::string> out;
  for (const auto& slow : perturbation.slow_devices)
    if (!met.devices.contains(slow.device)) out.push_back(at(slow.place, kIdle));
  for (const auto& straggler : perturbation.stragglers)
    if (!met.devices.contains(straggler.device))
      out.push_back(at(straggler.place, kIdle));
    else if (straggler.from >= trace.iteration)
      out.push_back(at(straggler.place, kOver));
  for (const auto& [kind, jitter] : perturbation.jitter)
    if (!met.kinds.contains(kind)) out.push_back(at(jitter.place, "no such task occurs"));
  for (const auto& fault : perturbation.link_faults)
    if (!met.any_of(fault.links))
      out.push_back(at(fault.place, fmt::format("no transfer uses the link {}", fault.name)));
    else if (fault.at >= trace.iteration)
      out.push_back(at(fault.place, kOver));
  return out;
}

}  // namespace penstock::sim
