#include "penstock/schedule/in_flight_search.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"

using namespace penstock;
using core::Picoseconds;

namespace {

plan::Plan two_stages(std::int64_t mini_batch) {
  plan::Plan p;
  p.training.mini_batch = mini_batch;
  p.stages = {{{core::OpId(0)}, {core::DeviceId(0)}, 2, 2, 0, {}},
              {{core::OpId(1)}, {core::DeviceId(1)}, 4, 1, 0, {}}};
  return p;
}

}  // namespace

TEST_CASE("counts shrink to the smallest that keep the time, the last stage first") {
  plan::Plan p = two_stages(16);
  // Anything slows down below 6 and 8 samples; fewer than 4 in the first stage deadlock.
  schedule::search_in_flight(p, [](const plan::Plan& tried) {
    if (tried.stages[0].in_flight < 4) throw core::Error(core::ExitCode::invalid_plan, "deadlock");
    return Picoseconds(tried.stages[0].in_flight < 6 || tried.stages[1].in_flight < 8 ? 11 : 10);
  });
  CHECK(p.stages[0].in_flight == 6);
  CHECK(p.stages[1].in_flight == 8);
}

TEST_CASE("a count that no smaller one replaces stays at the mini-batch") {
  plan::Plan p = two_stages(16);
  schedule::search_in_flight(p, [](const plan::Plan& tried) {
    return Picoseconds(100 - tried.stages[0].in_flight - tried.stages[1].in_flight);
  });
  CHECK(p.stages[0].in_flight == 16);
  CHECK(p.stages[1].in_flight == 16);
}

TEST_CASE("counts given are where the search starts; none grows") {
  plan::Plan p = two_stages(16);
  p.stages[0].in_flight = 8;
  const auto time = [](const plan::Plan& tried) { return Picoseconds(100 - tried.stages[0].in_flight); };
  schedule::search_in_flight(p, time);
  CHECK(p.stages[0].in_flight == 8);
  CHECK(p.stages[1].in_flight == 4);
}

TEST_CASE("other errors are passed on") {
  plan::Plan p = two_stages(16);
  CHECK_THROWS_AS(
      schedule::search_in_flight(p, [](const plan::Plan&) -> Picoseconds { throw core::InterruptedError(); }),
      core::InterruptedError);
}
