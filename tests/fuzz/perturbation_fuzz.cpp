// A perturbation file of any bytes is read or refused. An accepted one runs to an end or is refused, on both
// networks, and no task ends before it starts.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "sim/engine.hpp"
#include "sim/tasks/apply.hpp"

using namespace penstock;

namespace {

const cluster::Cluster& pair() {
  static const cluster::Cluster c = cluster::parse_cluster(
      "name: c\n"
      "device_types:\n"
      "  g: {memory: 1GiB, memory_bandwidth: 1GB/s, multiprocessors: 1, launch_overhead: 1us, peak: {fp32: "
      "1TFLOP/s}}\n"
      "machines: [{name: a, device: g}, {name: b, device: g}]\n"
      "links: [{from: a, to: b, bandwidth: 1GB/s, latency: 1us}]\n",
      "c");
  return c;
}

/// A pass of 1 ms on either device with 1 MB between.
sim::TaskGraph two_passes() {
  sim::TaskGraph graph;
  graph.devices = 2;
  graph.capacity = {1e-3, 1e-3};
  graph.paths = {{core::DeviceId(0), core::DeviceId(1), {0}, 1'000'000}};
  graph.tasks = {{1'000'000'000, 0, 1, 0, 0, trace::TaskKind::forward},
                 {1'001'000'000, 1'000'000, 2, 0, 0, trace::TaskKind::transfer},
                 {1'000'000'000, 0, -1, 1, 0, trace::TaskKind::forward}};
  sim::EdgeList().freeze(graph);
  return graph;
}

void simulate(const sim::Perturbation& perturbation, sim::NetworkModel network) {
  sim::TaskGraph graph = two_passes();
  sim::apply(perturbation, 1, graph);
  const sim::TaskTimes times = sim::run(graph, network);
  std::int64_t before = 0;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    core::require(times.start[t] >= before && times.end[t] >= times.start[t], "time goes forward");
    before = times.end[t];
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto network : {sim::NetworkModel::fifo, sim::NetworkModel::fair}) try {
      simulate(
          sim::parse_perturbation(std::string(reinterpret_cast<const char*>(data), size), "fuzz", pair()),
          network);
    } catch (const core::BadInput&) {
    }
  return 0;
}
