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
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;

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

struct ColocatedSetup {
  CutSetting cut;
  std::int64_t micro_batch;
  plan::Recomputation recompute{};
};

/// Devices of all ranks, the last rank's first.
std::vector<core::DeviceId> all_devices(const plan::Plan& plan) {
  std::vector<core::DeviceId> out;
  const auto ranks = plan::rank_of_stage(plan);
  for (std::size_t s = plan.stages.size(); s-- > 0;)
    if (std::ranges::find(ranks, ranks[s]) - ranks.begin() == static_cast<std::ptrdiff_t>(s))
      out.insert(out.end(), plan.stages[s].devices.begin(), plan.stages[s].devices.end());
  return out;
}

/// On the devices of all ranks the first half of the operators of the first stage; or, `behind` the pipeline,
/// the second half of those of the last.
CutModel colocated(const std::string& family, const ColocatedSetup& given, bool behind = false) {
  CutModel out = cut_model(models::build(family, kModels.at(family)), given.cut);
  auto& stages = out.plan.stages;
  plan::Stage& cut = behind ? stages.back() : stages.front();
  plan::Stage whole = cut;
  const auto half = static_cast<std::ptrdiff_t>(cut.operators.size() / 2);
  whole.operators.erase(behind ? whole.operators.begin() : whole.operators.begin() + half,
                        behind ? whole.operators.begin() + half : whole.operators.end());
  std::erase_if(cut.operators, [&](OpId op) { return std::ranges::count(whole.operators, op) > 0; });
  whole.devices = all_devices(out.plan);
  whole.micro_batch = given.micro_batch;
  whole.recompute = given.recompute;
  const auto parts = plan::parts_of(whole, stages);
  stages.insert(behind ? stages.end() : stages.begin(), parts.begin(), parts.end());
  for (plan::Stage& stage : stages) stage.in_flight = 0;
  schedule::derive_in_flight(out.plan, plan::StageGraph(out.graph, out.plan));
  return out;
}

void check_all(const std::vector<ColocatedSetup>& all, bool behind, double last_bits) {
  for (const auto& [family, parameters] : kModels)
    for (const ColocatedSetup& given : all) {
      CAPTURE(family);
      CAPTURE(given.cut.schedule);
      CAPTURE(given.cut.rank.size());
      CAPTURE(given.cut.tensor_parallel);
      check_training(colocated(family, given, behind),
                     {.at_once = given.cut.mini_batch, .most = kRounding, .last_bits = last_bits});
    }
}

}  // namespace

TEST_CASE("a colocated encoder learns what one device does: ranks, replicas, groups, its own micro-batches") {
  check_all(
      {{{.rank = {0, 1}}, 4},
       {{.rank = {0, 1, 2}, .mini_batch = 12, .micro_batch = 3}, 6},
       {{.schedule = "gpipe", .rank = {0, 1}, .mini_batch = 8, .replicas = 2}, 4, plan::kRecomputeStage},
       {{.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .micro_batch = 1}, 4},
       {{.schedule = "zb_h1", .rank = {0, 1}, .micro_batch = 1}, 2},
       {{.rank = {0, 1}, .tensor_parallel = 2}, 2}},
      false, 2);
}

TEST_CASE("a stage behind the pipeline learns what one device does") {
  check_all(
      {{{.rank = {0, 1}}, 4},
       {{.rank = {0, 1, 2}, .mini_batch = 12, .micro_batch = 3}, 6},
       {{.schedule = "gpipe", .rank = {0, 1}, .mini_batch = 8, .replicas = 2}, 4, plan::kRecomputeStage},
       {{.schedule = "interleaved_1f1b", .rank = {0, 1, 0, 1}, .mini_batch = 8, .micro_batch = 2}, 2},
       {{.schedule = "zbv", .rank = {0, 1, 1, 0}, .mini_batch = 8, .micro_batch = 2}, 2},
       {{.rank = {0, 1}, .tensor_parallel = 2}, 2}},
      true, 4);
}

TEST_CASE("groups of other sizes on the same devices are not replayed") {
  CutModel model = colocated("transformer", {{.rank = {0, 1}, .tensor_parallel = 2}, 4});
  for (plan::Stage& stage : model.plan.stages)
    if (stage.part) stage.tensor_parallel = 1, stage.part = {2 * stage.part.before, 2 * stage.part.of};
  CHECK_THROWS_WITH_AS(
      replay::lower(model.graph, {model.graph, model.plan}),
      "stage 0 is colocated with stage 3: groups of other sizes on the same devices are not replayed",
      core::BadInput);
}
