#include "sim/explain/stuck.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "sim/engine.hpp"

using namespace penstock;
using core::StageId;
using sim::TaskGraph;
using trace::TaskKind;

namespace {

/// Two devices that serve a stage each, and a path from the first to the second.
TaskGraph two_devices() {
  TaskGraph graph;
  graph.devices = 2;
  graph.capacity = {1};
  graph.paths = {{core::DeviceId(0), core::DeviceId(1), {0}, 0}};
  return graph;
}

std::string message_of(const TaskGraph& graph) {
  try {
    sim::run(graph, sim::NetworkModel::fifo);
  } catch (const core::Error& e) {
    CHECK(e.code() == core::ExitCode::invalid_plan);
    return e.what();
  }
  return "no deadlock";
}

}  // namespace

TEST_CASE("a deadlock is reported as the circle of tasks that wait for each other") {
  // Task 1, B1 on stage 1, is before F0 (2), which B0 (0) on stage 0 waits for by a transfer (3); B1 waits
  // for B0. Task 4 waits for the circle and is not part of it; task 5 is done.
  TaskGraph graph = two_devices();
  graph.tasks = {
      {5, 0, 1, 0, 0, TaskKind::backward, StageId(0)},  {5, 0, 2, 1, 1, TaskKind::backward, StageId(1)},
      {5, 0, -1, 1, 0, TaskKind::forward, StageId(1)},  {5, 9, 0, 0, 7, TaskKind::transfer},
      {5, 0, -1, 1, 9, TaskKind::backward, StageId(1)}, {5, 0, -1, 0, 8, TaskKind::forward, StageId(0)}};
  sim::EdgeList edges;
  edges.add(2, 3);
  edges.add(1, 4);
  edges.freeze(graph);
  CHECK(message_of(graph) ==
        "the schedule deadlocks: each of these waits for the next, and the last for the first\n"
        "  the backward pass of micro-batch 0 on stage 0 (device 0)\n"
        "  the transfer of micro-batch 7 from device 0 to device 1\n"
        "  the forward pass of micro-batch 0 on stage 1 (device 1)\n"
        "  the backward pass of micro-batch 1 on stage 1 (device 1)");
}

TEST_CASE("a circle of twelve is listed in full, a larger one with a count") {
  for (const int size : {1, 12, 13, 1000}) {
    TaskGraph graph = two_devices();
    for (int t = 0; t < size; ++t)
      graph.tasks.push_back({1, 0, (t + 1) % size, 0, t, TaskKind::forward, StageId(0)});
    sim::EdgeList().freeze(graph);
    const std::string message = message_of(graph);
    CHECK(std::count(message.begin(), message.end(), '\n') == std::min(size, 12));
    if (size == 13) CHECK(message.ends_with("\n  and 2 more"));
    if (size == 12) CHECK(message.ends_with("micro-batch 1 on stage 0 (device 0)"));
  }
}
