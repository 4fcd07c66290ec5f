// Colocated stages: parts on several ranks learn what one device does.

#include "penstock/plan/colocated.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "check_training.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"

using namespace penstock;
using core::OpId;
using replay::test::check_training;
using replay::test::Cut;
using replay::test::cut_model;
using replay::test::CutModel;

namespace {

constexpr double kRounding = 1e-4;

const std::map<std::string, std::map<std::string, std::string>> kModels = {
    {"transformer", {{"layers", "3"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "4"}}},
    {"mmt", {{"branches", "2"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "4"}}},
    {"encoder_decoder",
     {{"vocabulary", "13"},
      {"layers", "1"},
      {"hidden", "8"},
      {"heads", "4"},
      {"feed_forward", "8"},
      {"source_length", "3"},
      {"target_length", "2"}}}};  // shares its tables between a part and another stage

/// The first half of the operators of the first stage on the devices of all ranks.
CutModel colocated(const std::string& family, const Cut& cut, std::int64_t micro_batch,
                   plan::Recomputation recompute = {}) {
  CutModel out = cut_model(models::build(family, kModels.at(family)), cut);
  plan::Stage& first = out.plan.stages.front();
  const auto half = first.operators.begin() + static_cast<std::ptrdiff_t>(first.operators.size() / 2);
  plan::Stage whole = first;
  whole.operators.assign(first.operators.begin(), half);
  first.operators.erase(first.operators.begin(), half);
  whole.devices.clear();
  const auto ranks = plan::rank_of_stage(out.plan);
  for (std::size_t s = out.plan.stages.size(); s-- > 0;)  // the last rank's replicas come first
    if (std::ranges::find(ranks, ranks[s]) - ranks.begin() == static_cast<std::ptrdiff_t>(s)) {
      const auto& devices = out.plan.stages[s].devices;
      whole.devices.insert(whole.devices.end(), devices.begin(), devices.end());
    }
  whole.micro_batch = micro_batch;
  whole.in_flight = cut.mini_batch;
  whole.recompute = recompute;
  const auto parts = plan::parts_of(whole, out.plan.stages);
  out.plan.stages.insert(out.plan.stages.begin(), parts.begin(), parts.end());
  return out;
}

/// The last operators of the last stage behind the pipeline, on the devices of all ranks.
CutModel behind(const std::string& family, const Cut& cut, std::int64_t micro_batch,
                plan::Recomputation recompute = {}) {
  CutModel out = cut_model(models::build(family, kModels.at(family)), cut);
  plan::Stage& last = out.plan.stages.back();
  const auto half = last.operators.begin() + static_cast<std::ptrdiff_t>(last.operators.size() / 2);
  plan::Stage whole = last;
  whole.operators.assign(half, last.operators.end());
  last.operators.erase(half, last.operators.end());
  whole.devices.clear();
  const auto ranks = plan::rank_of_stage(out.plan);
  for (std::size_t s = 0; s < out.plan.stages.size(); ++s)
    if (std::ranges::find(ranks, ranks[s]) - ranks.begin() == static_cast<std::ptrdiff_t>(s)) {
      const auto& devices = out.plan.stages[s].devices;
      whole.devices.insert(whole.devices.end(), devices.begin(), devices.end());
    }
  whole.micro_batch = micro_batch;
  whole.recompute = recompute;
  for (const plan::Stage& part : plan::parts_of(whole, out.plan.stages)) out.plan.stages.push_back(part);
  for (plan::Stage& stage : out.plan.stages) stage.in_flight = 0;
  schedule::derive_in_flight(out.plan, plan::StageGraph(out.graph, out.plan));
  return out;
}

}  // namespace

TEST_CASE("a colocated encoder learns what one device does: ranks, replicas, groups, its own micro-batches") {
  struct Given {
    Cut cut;
    std::int64_t micro_batch;
    plan::Recomputation recompute{};
  };
  const std::vector<Given> all = {
      {{.rank = {0, 1}}, 4},
      {{.rank = {0, 1, 2}, .mini_batch = 12, .micro_batch = 3}, 6},
      {{.schedule = "gpipe", .rank = {0, 1}, .mini_batch = 8, .replicas = 2}, 4, plan::kRecomputeStage},
      {{.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .micro_batch = 1}, 4},
      {{.schedule = "zb_h1", .rank = {0, 1}, .micro_batch = 1}, 2},
      {{.rank = {0, 1}, .tensor_parallel = 2}, 2},
  };
  for (const auto& [family, given] : kModels)
    for (const auto& [cut, micro_batch, recompute] : all) {
      CAPTURE(family);
      CAPTURE(cut.schedule);
      CAPTURE(cut.rank.size());
      CAPTURE(cut.tensor_parallel);
      check_training(colocated(family, cut, micro_batch, recompute),
                     {.at_once = cut.mini_batch, .most = kRounding, .last_bits = 2});
    }
}

TEST_CASE("a stage behind the pipeline learns what one device does") {
  struct Given {
    Cut cut;
    std::int64_t micro_batch;
    plan::Recomputation recompute{};
  };
  const std::vector<Given> all = {
      {{.rank = {0, 1}}, 4},
      {{.rank = {0, 1, 2}, .mini_batch = 12, .micro_batch = 3}, 6},
      {{.schedule = "gpipe", .rank = {0, 1}, .mini_batch = 8, .replicas = 2}, 4, plan::kRecomputeStage},
      {{.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .mini_batch = 8, .micro_batch = 2}, 2},
      {{.schedule = "zbv", .rank = {0, 1, 1, 0}, .mini_batch = 8, .micro_batch = 2}, 2},
      {{.rank = {0, 1}, .tensor_parallel = 2}, 2},
  };
  for (const auto& [family, given] : kModels)
    for (const auto& [cut, micro_batch, recompute] : all) {
      CAPTURE(family);
      CAPTURE(cut.schedule);
      CAPTURE(cut.rank.size());
      CAPTURE(cut.tensor_parallel);
      check_training(behind(family, cut, micro_batch, recompute),
                     {.at_once = cut.mini_batch, .most = kRounding, .last_bits = 4});
    }
}

TEST_CASE("groups of other sizes on the same devices are not replayed") {
  CutModel model = colocated("transformer", {.rank = {0, 1}, .tensor_parallel = 2}, 4);
  for (plan::Stage& stage : model.plan.stages)
    if (stage.part) stage.tensor_parallel = 1, stage.part = {2 * stage.part.before, 2 * stage.part.of};
  CHECK_THROWS_WITH_AS(
      replay::lower(model.graph, {model.graph, model.plan}),
      "stage 0 is colocated with stage 3: groups of other sizes on the same devices are not replayed",
      core::BadInput);
}
