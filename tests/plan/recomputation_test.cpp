#include "penstock/plan/recomputation.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/plan/violations.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using plan::Recomputation;

namespace {

/// One after the other, in this order.
graph::OpGraph chain(const std::vector<std::string>& names) {
  graph::GraphBuilder builder("chain");
  for (std::size_t v = 0; v < names.size(); ++v) {
    builder.add(support::unit_op(names[v]));
    if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
  }
  return builder.build();
}

std::vector<std::vector<int>> numbers(const std::vector<std::vector<OpId>>& segments) {
  std::vector<std::vector<int>> out;
  for (const auto& segment : segments) {
    out.emplace_back();
    for (const OpId id : segment) out.back().push_back(static_cast<int>(id.index()));
  }
  return out;
}

constexpr Recomputation kFirst{Recomputation::SegmentScope::layers, false, 1};

}  // namespace

TEST_CASE("an operator's layer is its name up to the last numbered part, its own left out") {
  CHECK(plan::layer_of("layer3.attention.query") == "layer3");
  CHECK(plan::layer_of("layer12.add1") == "layer12");
  CHECK(plan::layer_of("branch0.layer1.dense2") == "branch0.layer1");
  CHECK(plan::layer_of("model.layers.7.mlp.up_proj") == "model.layers.7");
  for (const char* none : {"head", "layer3", "embedding.sum", "token.embedding", "norm1", "", "."})
    CHECK(plan::layer_of(none).empty());
}

TEST_CASE("segments: the stage, or each of its layers; a single operator is no layer") {
  const auto g =
      chain({"embedding", "layer0.norm", "layer0.add", "layer1.norm", "layer1.add", "layer2.norm"});
  const std::vector<OpId> all{OpId(0), OpId(1), OpId(2), OpId(3), OpId(4), OpId(5)};
  const auto of = [&](const Recomputation& what) { return numbers(plan::segments(g, all, what)); };
  CHECK(of({}).empty());
  CHECK(of(plan::kRecomputeStage) == std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5}});
  CHECK(of(plan::kRecomputeEarly) == of(plan::kRecomputeStage));
  CHECK(of(plan::kRecomputeLayers) == std::vector<std::vector<int>>{{1, 2}, {3, 4}});
  CHECK(of(kFirst) == std::vector<std::vector<int>>{{1, 2}});
  const std::vector<OpId> late{OpId(4), OpId(3), OpId(2)};
  CHECK(numbers(plan::segments(g, late, kFirst)) == std::vector<std::vector<int>>{{3, 4}});
}

TEST_CASE("a single operator belongs to the layer around it, a nested one to its layer") {
  const auto of = [](const std::vector<std::string>& names) {
    std::vector<OpId> all;
    for (std::size_t v = 0; v < names.size(); ++v) all.emplace_back(v);
    return numbers(plan::segments(chain(names), all, plan::kRecomputeLayers));
  };
  using Sets = std::vector<std::vector<int>>;
  CHECK(of({"block0.conv0", "block0.conv0.relu", "block0.conv1", "block0.conv1.relu", "block1.conv0"}) ==
        Sets{{0, 1, 2, 3}});
  CHECK(of({"layer0.norm", "layer0.expert1.up", "layer0.expert1.down", "layer0.add", "layer1.norm",
            "layer1.add"}) == Sets{{0, 1, 2, 3}, {4, 5}});
  CHECK(of({"branch0.layer0.a", "branch1.layer0.a", "branch0.layer0.b", "branch1.layer0.b"}) ==
        Sets{{0, 1, 2, 3}});
}

TEST_CASE("layers have the order of the model, not of their names") {
  std::vector<std::string> names;
  std::vector<OpId> all;
  for (int layer = 8; layer < 12; ++layer)
    for (const char* op : {".norm", ".add"}) {
      all.emplace_back(names.size());
      names.push_back("layer" + std::to_string(layer) + op);
    }
  CHECK(numbers(plan::segments(chain(names), all, {Recomputation::SegmentScope::layers, false, 3})) ==
        std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4, 5}});
}

TEST_CASE("recomputation in words, and back") {
  for (const Recomputation& what : {Recomputation(),
                                    plan::kRecomputeStage,
                                    plan::kRecomputeEarly,
                                    plan::kRecomputeLayers,
                                    kFirst,
                                    {Recomputation::SegmentScope::layers, false, 40},
                                    plan::kRecomputeCore})
    CHECK(plan::recomputation(plan::written(what)) == what);
  CHECK(plan::written(kFirst) == "1 layer");
  CHECK(plan::recomputation("true") == plan::kRecomputeStage);
  CHECK(plan::recomputation("late") == plan::kRecomputeStage);
  CHECK_FALSE(plan::recomputation("false"));
  for (const char* wrong : {"", "yes", "0 layers", "-1 layers", "4", "4layers", "99999999999999999999 layers",
                            "2000000 layers", "layers 4", "Stage"})
    CHECK_THROWS_AS(plan::recomputation(wrong), core::BadInput);
}

TEST_CASE("a stage without layers cannot recompute them") {
  plan::Plan p;
  p.stages.push_back({{OpId(0), OpId(1)}, {core::DeviceId(0)}});
  p.stages[0].recompute = plan::kRecomputeLayers;
  const auto violations = [&](const std::vector<std::string>& names) {
    return plan::structural_violations(chain(names), support::tiny_cluster(1), p);
  };
  CHECK(violations({"layer0.norm", "layer0.add"}).empty());
  CHECK(violations({"norm", "add"}) ==
        std::vector<std::string>{"stage 0 recomputes layers and has none, no two operators such as "
                                 "'layer0.norm' and 'layer0.add'"});
  p.stages[0].operators.emplace_back(7);  // there is none: reported, and not looked at
  CHECK(violations({"norm", "add"}) == std::vector<std::string>{"stage 0: there is no operator number 7"});
}
