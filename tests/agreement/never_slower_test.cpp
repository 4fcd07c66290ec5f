// Promises of the help for searches that begin at other plans: `improve` is never slower than its input, and
// `joint` never slower than another planner with a flush. Plans are simulated without a memo.

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/planners/planner.hpp"
#include "support/near.hpp"

using namespace penstock;

namespace {

struct ComparedModel {
  const char* name;
  std::map<std::string, std::string> parameters;
};

/// With several inputs of one shape, and few enough units for exhaustive search.
const std::vector<ComparedModel> kModels = {
    {"dlrm", {{"branches", "2"}, {"width", "256"}, {"tower_layers", "1"}, {"top_layers", "1"}}},
    {"candle_uno", {{"towers", "2"}, {"width", "256"}, {"tower_layers", "1"}, {"top_layers", "1"}}},
    {"mmt", {{"branches", "2"}, {"layers", "1"}}},
    {"case_study", {{"layers", "1"}}},
};

std::optional<experiment::CellOutcome> search(const cost::Problem& problem, const std::string& planner,
                                              std::map<std::string, std::string> own = {},
                                              const plan::Plan* from = nullptr) {
  experiment::Cell cell;
  cell.planner = {planner, std::move(own)};
  cell.training = problem.training;
  cell.cluster.devices = static_cast<int>(problem.cluster.size());
  experiment::SearchSetting setting{};
  setting.options.from = from;
  try {
    return experiment::search(problem, cell, setting, {});
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

/// Checks every `stride`th of models x clusters x runtimes x samples.
void check_problems(std::size_t stride) {
  const cost::AnalyticCosts costs;
  std::size_t number = 0;
  int compared = 0;
  for (const ComparedModel& model : kModels)
    for (const char* where : {"2xA100-40x1", "1xV100-16x2", "2xH100x2"})
      for (const char* runtime : {"none", "5us/kernel", "eager_pytorch", "legion_flexflow"})
        for (const std::int64_t samples : {4, 8}) {
          if (++number % stride != 0) continue;
          CAPTURE(model.name);
          CAPTURE(where);
          CAPTURE(runtime);
          CAPTURE(samples);
          const auto graph = models::build(model.name, model.parameters);
          const auto cluster = cluster::load_cluster(where).run_by(cluster::runtime(runtime));
          const cost::Problem problem{graph, cluster, costs, {samples, plan::Optimizer::sgd}};
          const auto joint = search(problem, "joint", {{"evaluations", "300"}});
          for (const char* planner : {"exhaustive", "megatron", "spp", "graphpipe", "dapple"}) {
            CAPTURE(planner);
            const auto other = search(problem, planner);
            if (!other) continue;
            REQUIRE(joint);
            CHECK(joint->summary->iteration <= other->summary->iteration);
            const auto improved = search(problem, "joint", {{"evaluations", "100"}}, &*other->plan);
            REQUIRE(improved);
            CHECK(improved->summary->iteration <= other->summary->iteration);
            ++compared;
          }
        }
  CHECK(compared > static_cast<int>(3 * (number / stride)));
}

}  // namespace

namespace {

/// Times go by an operator's number, though these costs promise that equal operators take equal times. So the
/// memo of one layer is wrong for the next.
class LyingCosts final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph&, core::OpId op, const cluster::DeviceType&,
                       std::int64_t samples) const override {
    // Nearly equal, so that equal cuts make stages that look equal.
    const core::Seconds time(1e-3 * (1000 + static_cast<double>(op.index())) * static_cast<double>(samples));
    return {time, time, time};
  }
  bool equal_of_alike() const override { return true; }
};

}  // namespace

TEST_CASE("a search that believed a wrong time of its plan is a defect") {
  const auto graph = models::build("transformer", {{"layers", "8"}});
  const auto cluster = cluster::load_cluster("1xA100-40x4");  // nodes are equal, devices of one are not
  const LyingCosts costs;
  CHECK_THROWS_WITH(search({graph, cluster, costs, {16, plan::Optimizer::sgd}}, "gpipe_equal"),
                    doctest::Contains("the search believed that a plan takes"));
}

TEST_CASE("improve is never slower than its input, nor joint than other planners" *
          doctest::test_suite("oracle")) {
  check_problems(13);
}

TEST_CASE("improve is never slower than its input, nor joint than other planners, 96 problems" *
          doctest::test_suite("slow")) {
  check_problems(1);
}
