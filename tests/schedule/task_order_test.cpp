#include "penstock/schedule/task_order.hpp"

#include <doctest/doctest.h>

using namespace penstock;
using schedule::Phase;

namespace {

plan::Plan one_stage(std::int64_t mini_batch, std::int64_t micro_batch, std::int64_t in_flight, int k) {
  plan::Plan p;
  p.training.mini_batch = mini_batch;
  p.stages.push_back({{core::OpId(0)}, {core::DeviceId(0)}, micro_batch, k, in_flight, {}});
  return p;
}

std::string grid(plan::Plan p) { return schedule::tokens(schedule::task_order(p)[0]); }

}  // namespace

TEST_CASE("1F1B warms up to the in-flight count, then alternates") {
  CHECK(grid(one_stage(4, 1, 1, 1)) == "F0 B0 F1 B1 F2 B2 F3 B3");
  CHECK(grid(one_stage(8, 2, 6, 1)) == "F0 F1 F2 B0 F3 B1 B2 B3");
  // More in flight than there are micro-batches: fill and drain.
  CHECK(grid(one_stage(2, 1, 5, 1)) == "F0 F1 B0 B1");
}

TEST_CASE("2F2B runs backwards and forwards in pairs") {
  CHECK(grid(one_stage(6, 1, 4, 2)) == "F0 F1 F2 F3 B0 B1 F4 F5 B2 B3 B4 B5");
}

TEST_CASE("no run exceeds what may be in flight") {
  CHECK(grid(one_stage(4, 1, 2, 4)) == "F0 F1 B0 B1 F2 F3 B2 B3");
  CHECK(grid(one_stage(3, 1, 1, 2)) == "F0 B0 F1 B1 F2 B2");
}

TEST_CASE("fill-drain runs all forwards first") {
  auto p = one_stage(3, 1, 3, 1);
  p.schedule = plan::ScheduleKind::fill_drain;
  CHECK(grid(p) == "F0 F1 F2 B0 B1 B2");
}

TEST_CASE("order faults are found") {
  const auto p = one_stage(2, 1, 1, 1);
  const schedule::Task f0{Phase::forward, 0}, f1{Phase::forward, 1}, b0{Phase::backward, 0}, b1{Phase::backward, 1};
  const auto faulty = [&](std::vector<schedule::Task> order) { return !schedule::order_faults(p, {order}).empty(); };
  CHECK(!faulty({f0, b0, f1, b1}));
  CHECK(faulty({f0, f1, b0, b1}));  // two in flight, one allowed
  CHECK(faulty({b0, f0, f1, b1}));
  CHECK(faulty({f0, b0, f1}));
  CHECK(faulty({f1, b1, f0, b0}));
}
