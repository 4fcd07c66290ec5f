#include "sim/least_left.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace penstock;

namespace {

sim::Task pass(std::int64_t duration, std::int32_t device, sim::TaskId next = -1) {
  sim::Task task;
  task.duration = duration;
  task.place = device;
  task.next = next;
  return task;
}

sim::Task transfer(std::int64_t duration, sim::TaskId receiver) {
  sim::Task task = pass(duration, 0, receiver);
  task.kind = trace::TaskKind::transfer;
  task.bytes = 1;
  return task;
}

/// Device 0 runs A, B; A's output travels to C on device 1, before D there.
///
///     A 10 --> B 50
///      \-- 8 -- C 20 --> D 30
sim::TaskGraph two_devices(bool circle) {
  sim::TaskGraph graph;
  for (const auto& task : {pass(10, 0, 1), pass(50, 0), transfer(8, 3), pass(20, 1, 4), pass(30, 1)})
    graph.tasks.push_back(task);
  sim::EdgeList edges;
  edges.add(0, 2);
  if (circle) edges.add(4, 3);
  edges.freeze(graph);
  return graph;
}

}  // namespace

TEST_CASE("least left: the longest way to the end, a transfer two picoseconds short") {
  CHECK(sim::least_left(two_devices(false)) ==
        std::vector<std::int64_t>{10 + 6 + 20 + 30, 50, 6 + 20 + 30, 20 + 30, 30});
}

TEST_CASE("least left is unknown where tasks wait for each other or devices change speed") {
  CHECK(sim::least_left(two_devices(true)).empty());
  auto graph = two_devices(false);
  graph.speed.resize(2);
  CHECK(sim::least_left(graph).empty());
}
