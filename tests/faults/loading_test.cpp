// Memory runs out while a file is read.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/files.hpp"
#include "penstock/cost/calibration.hpp"
#include "penstock/cost/profile.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/graph/pipedream_graph.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/report/results.hpp"
#include "penstock/report/validation.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/sim/perturbation.hpp"
#include "refusals.hpp"
#include "support/checkout.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using faults::refuse_each;

namespace {

std::string seed(const std::string& name) {
  return support::checkout("/tests/fuzz/seeds/" + name);
}

report::CellResult some_row() {
  report::CellResult row;
  row.model = "mmt layers=2";
  row.cluster = "summit";
  row.devices = 4;
  row.planner = "graphpipe";
  row.mini_batch = 32;
  row.status = "ok";
  row.iteration_s = 0.25;
  row.stages = 3;
  return row;
}

}  // namespace

TEST_CASE("models") {
  const auto names = [](const graph::OpGraph& graph) {
    std::string out = graph.name();
    for (std::size_t v = 0; v < graph.size(); ++v) out += " " + graph.op(core::OpId(v)).name;
    return out;
  };
  refuse_each([&] { return names(graph::load_graph(seed("graph_file/tiny.yaml"))); });
  refuse_each([&] {
    const auto read = graph::load_pipedream_graph(seed("pipedream_graph/three.txt"));
    return names(graph::to_op_graph(read, "three", 3));
  });
}

TEST_CASE("clusters and perturbations") {
  refuse_each([] {
    const auto cluster = cluster::load_cluster(seed("cluster_file/mixed.yaml"));
    return fmt::format("{} {}", cluster.name(), cluster.size());
  });
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  refuse_each([&] {
    const auto perturbation =
        sim::load_perturbation(support::checkout("/experiments/imperfect/bad_day.yaml"), cluster);
    return fmt::format("{} {}", perturbation.slow_devices.size(), perturbation.link_faults.size());
  });
}

TEST_CASE("plans and schedules") {
  const auto diamond = support::tiny_graph(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const std::string file = seed("plan_file/diamond.yaml");
  refuse_each([&] { return plan::to_yaml(diamond, plan::parse_plan(core::read_file(file), file, diamond)); });
  refuse_each([] { return schedule::to_csv(schedule::load_schedule(seed("schedule/messages.csv"))); });
}

TEST_CASE("costs") {
  const std::string calibration = cost::sealed(core::read_file(seed("calibration/full.yaml")));
  refuse_each([&] { return cost::to_yaml(cost::parse_calibration(calibration, "c.yaml")); });
  refuse_each([] { return cost::to_yaml(cost::load_profile(seed("profile/two.yaml"))); });
}

TEST_CASE("experiments") {
  refuse_each(
      [] {
        const auto spec = experiment::load_spec(support::checkout("/experiments/quickstart.yaml"));
        std::string out;
        for (const auto& cell : spec.cells) out += experiment::cell_name(cell) + "\n";
        return out;
      },
      6);
}

TEST_CASE("tables") {
  const std::vector<report::CellResult> rows{some_row()};
  const std::string csv = report::to_csv(rows);
  refuse_each([&] {
    std::vector<report::CellResult> read{rows};
    report::add_columns(read, csv, "r.csv");
    return report::to_csv(read);
  });
  const std::string validation =
      "plan,measured_s,measured_low_s,measured_high_s,simulated_s,error\na plan with a long name,1,1,1,1,0\n";
  refuse_each([&] { return report::parse_validation(validation, "v.csv")[0].plan; });
}
