#include "penstock/plan/shared_parameters.hpp"

#include <doctest/doctest.h>

#include "replay/shared_model.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::StageId;
using replay::test::shared_chain;
using replay::test::shared_model;

TEST_CASE("a table and a head in different stages are shared by both, with all their devices") {
  // Table on device 0, middle on 1 and 2, head on 3 and 4.
  const auto chain = shared_chain({1, 2, 2});
  const auto shared = plan::shared_parameters(chain.graph, chain.plan);
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].owners == std::vector{OpId(1)});
  CHECK(shared[0].stages == std::vector{StageId(0), StageId(2)});
  CHECK(plan::home(shared[0], chain.plan) == StageId(0));
  CHECK(plan::devices(shared[0], chain.plan) == std::vector{DeviceId(0), DeviceId(3), DeviceId(4)});
  CHECK(plan::stages_on(shared[0], chain.plan, DeviceId(4)) == std::vector{StageId(2)});
  CHECK(plan::stages_on(shared[0], chain.plan, DeviceId(1)).empty());
  CHECK(plan::unshared(chain.plan.stages[0].operators, shared) == std::vector{OpId(0)});
}

TEST_CASE("stages on the same devices name them once; one stage shares nothing") {
  const auto zigzag = shared_model("gpt", {.rank = {0, 1, 1, 0}}, {1, 1});
  const auto shared = plan::shared_parameters(zigzag.graph, zigzag.plan);
  REQUIRE(shared.size() == 1);
  CHECK(plan::devices(shared[0], zigzag.plan) == std::vector{DeviceId(0)});
  CHECK(plan::stages_on(shared[0], zigzag.plan, DeviceId(0)) == std::vector{StageId(0), StageId(3)});
  const auto whole = shared_model("gpt", {.rank = {0}}, {2});
  CHECK(plan::shared_parameters(whole.graph, whole.plan).empty());
}
