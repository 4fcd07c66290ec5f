// The memory of stages that share a device, and of split backward passes: what plans are refused by is never
// below what the simulator finds.

#include <doctest/doctest.h>

#include <map>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "score/rank_memory.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

/// Eight layers of GPT on four devices, `chunks` stages each, 12 micro-batches.
struct GptPipeline {
  graph::OpGraph graph = models::build("gpt", {{"layers", "8"}, {"sequence", "128"}, {"positions", "128"}});
  cluster::Cluster cluster =
      cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(4);
  cost::AnalyticCosts costs;
  cost::Problem problem{graph, cluster, costs, {12, plan::Optimizer::adam}};

  plan::Plan plan(const std::string& schedule, const std::vector<std::int32_t>& rank_of_stage,
                  const plan::Recomputation& again) const {
    const auto row = std::get<plan::LayerRow>(plan::layer_row(graph));
    const auto stages = static_cast<std::int32_t>(rank_of_stage.size());
    plan::Plan out;
    out.training = problem.training;
    out.schedule = schedule;
    for (std::int32_t s = 0; s < stages; ++s) {
      plan::Stage& stage = out.stages.emplace_back();
      for (std::size_t v = 0; v < graph.size(); ++v)
        if (row.part_of[v] * stages / row.parts() == s) stage.operators.emplace_back(v);
      stage.devices.emplace_back(static_cast<std::size_t>(rank_of_stage[static_cast<std::size_t>(s)]));
      stage.micro_batch = 1;
      if (plan::applies(graph, stage.operators, again)) stage.recompute = again;
    }
    score::derive_in_flight(problem, out);
    return out;
  }
};

}  // namespace

TEST_CASE("memory that stages of a device hold in turn is counted before a plan is run") {
  const GptPipeline row;
  const std::vector<std::int32_t> own = {0, 1, 2, 3}, loop = {0, 1, 2, 3, 0, 1, 2, 3},
                                  v = {0, 1, 2, 3, 3, 2, 1, 0};
  for (const auto& [schedule, ranks] :
       std::map<std::string, std::vector<std::int32_t>>{{"zb_h1", own},
                                                        {"zb_h2", own},
                                                        {"zb_1p", own},
                                                        {"interleaved_1f1b", loop},
                                                        {"looped_bfs", loop},
                                                        {"interleaved_zb", loop},
                                                        {"hanayo", v},
                                                        {"zbv", v},
                                                        {"v_half", v},
                                                        {"v_zb", v},
                                                        {"dualpipev", v}})
    for (const plan::Recomputation& again :
         {plan::Recomputation(), plan::kRecomputeStage, plan::kRecomputeLayers, plan::kRecomputeCore}) {
      CAPTURE(schedule);
      CAPTURE(plan::written(again));
      const bool split = schedule != "interleaved_1f1b" && schedule != "looped_bfs" && schedule != "hanayo";
      if (split && again == plan::kRecomputeLayers) continue;
      const auto plan = row.plan(schedule, ranks, again);
      const auto needed = score::rank_memories(row.problem, plan);
      const auto memories = score::stage_memories(row.problem, plan);
      const auto summary =
          trace::summarise(sim::simulate(row.problem, score::scheduled(row.problem, plan), {}));
      double tightest = 0;
      for (std::size_t d = 0; d < 4; ++d) {
        CHECK(summary.devices[d].peak <= needed[d].needed);
        tightest = std::max(tightest, summary.devices[d].peak / needed[d].needed);
        core::Bytes at_their_fullest, workspace;  // which they share
        for (const std::size_t s : needed[d].stages) {
          const core::Bytes own = at(memories[s], plan::MemoryKind::workspace);
          at_their_fullest += plan::total(memories[s]) - own;
          workspace = std::max(workspace, own);
        }
        CHECK(needed[d].needed <= at_their_fullest + workspace);
      }
      CHECK(tightest > (ranks == own ? 0.9 : 0.97));
    }
}
