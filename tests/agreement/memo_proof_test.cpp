// Searches whose memo proves every answer it gives: made again, each is the same to the last digit.

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/least_iteration.hpp"

using namespace penstock;

namespace {

struct ProofModel {
  const char* name;
  std::map<std::string, std::string> parameters;
};

/// Layers, branches, experts and inputs that repeat; some with numbers of two bytes, for the tables.
const std::vector<ProofModel> kModels = {
    {"dlrm", {{"branches", "2"}, {"width", "256"}, {"tower_layers", "1"}, {"top_layers", "1"}}},
    {"candle_uno", {{"towers", "3"}, {"tower_layers", "1"}}},
    {"mmt", {{"branches", "2"}, {"layers", "2"}, {"element_bytes", "2"}}},
    {"gpt", {{"layers", "3"}, {"element_bytes", "2"}}},
    {"mixtral", {{"layers", "2"}, {"hidden", "512"}, {"heads", "8"}, {"element_bytes", "2"}}},
    {"clip", {{"text_layers", "2"}, {"image_layers", "2"}}},
    {"bert", {{"layers", "2"}}},
};
const std::vector<std::pair<const char*, int>> kClusters = {
    {"8xA100-40x1", 4}, {"2xH100x2", 4}, {"summit_flexflow_two_rails", 8}, {"mixed", 6}};
const std::vector<const char*> kRuntimes = {"none", "5us/kernel", "eager_pytorch", "legion_flexflow"};
const std::vector<const char*> kPlanners = {"joint", "megatron", "graphpipe", "piper", "aceso"};

cost::TableCosts tables() {
  std::vector<cost::ProductTime> products;
  std::vector<cost::AttentionTime> attention;
  for (const std::int64_t m : {256, 1024, 8192})
    for (const std::int64_t n : {512, 4096})
      for (const std::int64_t k : {512, 4096})
        products.push_back({m, n, k, 2e-6 + 1e-14 * static_cast<double>(m * n * k)});
  for (const std::int64_t length : {256, 2048})
    attention.push_back({1, length, 8, 64, 1e-5 + 1e-12 * static_cast<double>(length * length)});
  return {"NVIDIA A100-SXM4-80GB", products, attention};
}

/// True if a search on the problem had a plan. A memo that gives a wrong answer throws.
bool prove(cost::Problem problem, const std::string& planner) {
  cost::StageMemo memo(core::Bytes(std::int64_t{128} << 20), cost::StageMemo::MemoProof::every_answer);
  memo.serve(problem);
  planners::SearchOptions options;
  options.evaluate = experiment::simulated_time(problem, {});
  options.evaluate_against = experiment::simulated_time_against(problem, {});
  options.at_least = [&](const plan::Plan& plan) {
    return score::least_iteration(problem, plan, score::ReductionTiming::closed_form);
  };
  if (planner == "joint") options.own["evaluations"] = "60";
  try {
    const auto found = planners::planner(planner).plan(problem, options, {});
    const cost::Problem forgetful{problem.graph, problem.cluster, problem.costs, problem.training,
                                  problem.memory};
    CHECK(options.evaluate(found.plan) == experiment::simulated_time(forgetful, {})(found.plan));
    return true;
  } catch (const core::Infeasible&) {
    return false;
  }
}

/// Every `stride`th of models x clusters x runtimes x planners x costs.
void prove_problems(std::size_t stride) {
  const cost::AnalyticCosts analytic;
  const cost::TableCosts table = tables();
  std::size_t number = 0;
  int proved = 0;
  for (const ProofModel& model : kModels)
    for (const auto& [cluster_name, devices] : kClusters)
      for (const char* runtime : kRuntimes)
        for (const char* planner : kPlanners)
          for (const cost::CostModel* costs : {static_cast<const cost::CostModel*>(&analytic),
                                               static_cast<const cost::CostModel*>(&table)}) {
            if (++number % stride != 0) continue;
            CAPTURE(model.name);
            CAPTURE(cluster_name);
            CAPTURE(runtime);
            CAPTURE(planner);
            CAPTURE(costs->source());
            const auto graph = models::build(model.name, model.parameters);
            const auto cluster = cluster::load_cluster(cluster_name)
                                     .first(static_cast<std::size_t>(devices))
                                     .run_by(cluster::runtime(runtime));
            proved += prove({graph, cluster, *costs, {16, plan::Optimizer::adam}}, planner);
          }
  CHECK(proved > static_cast<int>(number / stride / 2));
}

}  // namespace

TEST_CASE("every answer that searches remember is the answer made again" * doctest::test_suite("oracle")) {
  prove_problems(37);
}

TEST_CASE("every answer that searches remember is the answer made again, 1120 problems" *
          doctest::test_suite("slow")) {
  prove_problems(1);
}
