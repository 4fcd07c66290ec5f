// Every row of the published program's results that its search (not its equal-split baselines) made.

#include <doctest/doctest.h>

#include <map>

#include "support/piper_cases.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using namespace penstock::planners;

namespace {

/// What the program was told; none for its equal-split baselines.
std::optional<PiperOptions> options_of(const std::string& planner) {
  PiperOptions options;
  options.rules.knapsack = planner == "piper-exact-knapsack" ? Knapsack::exact : Knapsack::greedy;
  if (planner.starts_with("equi")) return std::nullopt;
  if (planner == "nodp")
    options.rules.data_parallel = false;
  else if (planner == "notp")
    options.rules.tensor_parallel = false;
  else if (planner == "noar")
    options.rules.recompute = Recompute::never;
  else if (planner == "forcear")
    options.rules.recompute = Recompute::always;
  else if (planner == "allornone")
    options.rules.recompute = Recompute::per_stage;
  else if (!planner.starts_with("piper"))
    FAIL("unknown planner " << planner);
  return options;
}

/// The program's search was not exact there.
bool upper_bound_only(const support::PiperRow& row) {
  return row.planner == "piper-exact-knapsack" && row.workload == "resnet" &&
         row.setting.memory == 17179869184.0;
}

void check_row(const graph::PiperWorkload& workload, const support::PiperRow& row,
               const PiperOptions& options) {
  const auto plan = piper_search(workload, options, {});
  const bool infeasible = row.time_per_micro_batch >= 1e30;
  REQUIRE(plan.has_value() == !infeasible);
  if (infeasible) return;
  if (upper_bound_only(row))
    CHECK(plan->time_per_micro_batch <= row.time_per_micro_batch * (1 + 1e-12));
  else
    CHECK(plan->time_per_micro_batch == doctest::Approx(row.time_per_micro_batch).epsilon(1e-12));
  const auto verdict = support::judge(workload, plan->stages);
  CHECK(verdict.fault == "");
  CHECK(verdict.time_per_micro_batch == doctest::Approx(plan->time_per_micro_batch).epsilon(1e-12));
}

/// The exact knapsack is never above the row, and equal to it on BERT.
void check_exact(const graph::PiperWorkload& workload, const support::PiperRow& row) {
  if (row.planner != "piper") return;
  const auto plan = piper_search(workload, {}, {});
  REQUIRE(plan.has_value() == (row.time_per_micro_batch < 1e30));
  if (!plan) return;
  CHECK(plan->time_per_micro_batch <= row.time_per_micro_batch * (1 + 1e-12));
  if (row.workload.starts_with("bert"))
    CHECK(plan->time_per_micro_batch >= row.time_per_micro_batch * (1 - 1e-12));
}

template <class Wanted>
void walk(Wanted&& wanted) {
  const std::string folder = support::reference_data("piper");
  if (folder.empty()) return;
  std::map<std::string, graph::PiperWorkload> workloads;
  int checked = 0;
  for (const auto& row : support::piper_rows(folder + "/piper_results.csv")) {
    const auto options = options_of(row.planner);
    if (!options || !wanted(row)) continue;
    INFO(row.workload, " K ", row.setting.devices, " M ", row.setting.memory, " B ", row.setting.bandwidth,
         " N ", row.setting.micro_batches, " ", row.planner);
    if (!workloads.contains(row.workload))  // the program takes every file for seconds
      workloads[row.workload] =
          graph::load_piper(folder + "/" + row.workload + ".json", graph::PiperTime::seconds);
    auto& workload = workloads[row.workload];
    workload.setting = row.setting;
    check_row(workload, row, *options);
    check_exact(workload, row);
    ++checked;
  }
  CHECK(checked > 0);
}

}  // namespace

TEST_CASE("piper: rows the published program finds in half a second") {
  walk([](const support::PiperRow& row) { return row.wall_s < 0.5; });
}

TEST_CASE("piper: milliseconds are milliseconds when the import is told so") {
  const std::string folder = support::reference_data("piper");
  if (folder.empty()) return;
  auto as_published = graph::load_piper(folder + "/resnet.json", graph::PiperTime::seconds);
  auto in_seconds = graph::load_piper(folder + "/resnet.json", graph::PiperTime::milliseconds);
  as_published.setting = {8, 4294967296.0, 26843545.6, 7680};  // bytes per millisecond
  in_seconds.setting = {8, 4294967296.0, 26843545600.0, 7680};
  const auto published = piper_search(as_published, {}, {}), seconds = piper_search(in_seconds, {}, {});
  CHECK(published->time_per_micro_batch == doctest::Approx(122.66875).epsilon(1e-12));
  CHECK(seconds->time_per_micro_batch == doctest::Approx(0.12266875).epsilon(1e-12));
}

TEST_SUITE("slow") {
  TEST_CASE("piper: rows that take the published program longer") {
    walk([](const support::PiperRow& row) { return row.wall_s >= 0.5; });
  }
}
