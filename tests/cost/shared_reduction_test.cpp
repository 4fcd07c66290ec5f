#include "penstock/cost/shared_reduction.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/buckets.hpp"
#include "replay/shared_model.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using plan::MemoryKind;
using replay::test::shared_chain;
using Groups = std::vector<std::vector<DeviceId>>;

TEST_CASE("a copy counts as weights of its own do, once, and not beside its owner") {
  // Table and head have 5 x 4 numbers, the middle 4 x 4.
  const auto chain = shared_chain({1, 1, 1});
  const auto load = [&](std::vector<OpId> operators) { return cost::stage_load(chain.problem(), operators); };
  CHECK(load({OpId(3)}).parameters == Bytes(80));
  CHECK(load({OpId(3)}).fresh == Bytes(80));
  CHECK(load({OpId(2), OpId(3)}).parameters == Bytes(64 + 80));
  CHECK(load({OpId(1), OpId(2), OpId(3)}).parameters == Bytes(80 + 64));
  CHECK(load({OpId(0), OpId(1)}).parameters == Bytes(80));
  const auto memory = cost::stage_memory(load({OpId(3)}), {}, {.optimizer = plan::Optimizer::adam}, 1, 1);
  CHECK(at(memory, MemoryKind::gradients) == Bytes(80));
  CHECK(at(memory, MemoryKind::optimizer) == Bytes(160));
}

TEST_CASE("all devices of both stages sum the gradients together") {
  // Ring of devices 0, 3, 4: 2 * 2/3 of 80 bytes over cables of 1 kB/s, or a tree: 2 * 2 times 80 bytes.
  const auto chain = shared_chain({1, 2, 2});
  const auto shared = plan::shared_parameters(chain.graph, chain.plan);
  const auto sum = cost::shared_reduction(chain.problem(), chain.plan, shared.at(0));
  CHECK(sum.groups == Groups{{DeviceId(0), DeviceId(3), DeviceId(4)}});
  CHECK(sum.bytes == Bytes(80));
  CHECK(cost::time(chain.problem(), sum).value() == support::near(80e-3 * 4 / 3));
}

TEST_CASE("tensor-parallel groups of one size sum their parts side by side, of two sizes the whole") {
  auto chain = shared_chain({2, 1, 4});
  chain.plan.stages[0].tensor_parallel = chain.plan.stages[2].tensor_parallel = 2;
  const auto shared = plan::shared_parameters(chain.graph, chain.plan);
  const auto sum = [&] { return cost::shared_reduction(chain.problem(), chain.plan, shared.at(0)); };
  // Devices 0 and 1 hold halves, so do 3 and 4, 5 and 6.
  CHECK(sum().groups ==
        Groups{{DeviceId(0), DeviceId(3), DeviceId(5)}, {DeviceId(1), DeviceId(4), DeviceId(6)}});
  CHECK(sum().bytes == Bytes(40));
  CHECK(cost::stage_load(chain.problem(), chain.plan.stages[2]).parameters == Bytes(40));
  // The table by its width and the head by its rows are parts along unlike axes: no device has the other's.
  chain.plan.stages[0].partition = {{OpId(1), plan::Partition::column}};
  CHECK(sum().groups.size() == 1);
  CHECK(sum().bytes == Bytes(80));
  chain.plan.stages[0].partition.clear();
  chain.plan.stages[2].tensor_parallel = 4;
  CHECK(sum().groups.size() == 1);
  CHECK(sum().groups[0].size() == 6);
  CHECK(sum().bytes == Bytes(80));
}

TEST_CASE("buckets fill by bytes of gradients, of shared weights too") {
  // bf16 weights, fp32 gradients: 200 and 400 bytes of each operator.
  graph::GraphBuilder b("half", 2);
  for (const char* name : {"a", "b", "c"}) {
    graph::Operator op = support::unit_op(name, 1e9, 100);
    b.add(op);
  }
  b.add_edge(core::OpId(0), core::OpId(1));
  b.add_edge(core::OpId(1), core::OpId(2));
  const auto g = b.build();
  const auto cluster = support::tiny_cluster(2);
  const cost::AnalyticCosts costs;
  plan::Training training{8};
  training.precision = plan::mixed_precision("mixed_bf16");
  plan::Stage stage{
      {core::OpId(0), core::OpId(1), core::OpId(2)}, {core::DeviceId(0), core::DeviceId(1)}, 8, 1, 0, {}};
  training.bucket = core::Bytes(400);
  CHECK(cost::buckets({g, cluster, costs, training}, stage).size() == 3);
  training.bucket = core::Bytes(401);
  CHECK(cost::buckets({g, cluster, costs, training}, stage).size() == 2);
  // A tied head without its table: the table's gradients fill its bucket.
  const auto gpt = models::build(
      "gpt", {{"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"vocabulary", "64"}, {"tied_head", "yes"}});
  plan::Stage head{{core::OpId(gpt.size() - 1)}, {core::DeviceId(0), core::DeviceId(1)}, 8, 1, 0, {}};
  REQUIRE(gpt.op(head.operators[0]).name == "head");
  const auto alone = cost::buckets({gpt, cluster, costs, {8}}, head);
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].gradients == core::Bytes(64 * 32 * 4));
}
