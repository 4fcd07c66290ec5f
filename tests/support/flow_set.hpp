#pragma once
// Transfers on a network, without a plan around them.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/core/random.hpp"
#include "sim/engine.hpp"

namespace penstock::support {

struct TimedFlow {
  std::vector<std::uint32_t> route;  ///< links
  std::int64_t start = 0;            ///< ps: when it becomes ready
  std::int64_t latency = 0;          ///< ps
  std::int64_t bytes = 0;
};

struct FlowSet {
  std::vector<double> capacity;  ///< [link], bytes per ps
  std::vector<TimedFlow> flows;
  std::vector<sim::CapacityChange> changes = {};  ///< in time order
};

/// When each flow ends, by the simulator. Task 2i keeps flow i, task 2i + 1, waiting until its start.
inline std::vector<std::int64_t> simulated_ends(const FlowSet& set,
                                                sim::NetworkModel network = sim::NetworkModel::fair) {
  sim::TaskGraph graph;
  graph.capacity = set.capacity;
  graph.changes = set.changes;
  for (const TimedFlow& flow : set.flows) {
    const auto id = static_cast<sim::TaskId>(graph.tasks.size());
    graph.tasks.push_back({flow.start, 0, id + 1, 0, 0, trace::TaskKind::forward});
    double alone = 0;
    for (const auto l : flow.route)
      alone = std::max(alone, static_cast<double>(flow.bytes) / set.capacity[l]);
    graph.tasks.push_back({flow.latency + static_cast<std::int64_t>(alone), flow.bytes, -1,
                           static_cast<std::int32_t>(graph.paths.size()), 0, trace::TaskKind::transfer});
    graph.paths.push_back({core::DeviceId(0), core::DeviceId(0), flow.route, flow.latency});
  }
  sim::EdgeList().freeze(graph);
  const sim::TaskTimes times = sim::run(graph, network);
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < set.flows.size(); ++i) ends.push_back(times.end[2 * i + 1]);
  return ends;
}

/// Up to 12 links, some of them too wide to fill, else up to 100 times as wide as another. Up to 40 flows
/// over one to four of them. For half of the seeds few different starts and sizes, so that many things happen
/// at one moment.
FlowSet random_flow_set(std::uint64_t seed);

/// A random_flow_set() with up to six changes: links go down or to a part of their capacity; in the end all
/// are whole.
FlowSet random_faulty_flow_set(std::uint64_t seed);

}  // namespace penstock::support
