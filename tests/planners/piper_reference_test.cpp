// Every row of the published program's results that its search (not its equal-split baselines) made.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "support/near.hpp"
#include "support/piper_cases.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using namespace penstock::planners;

namespace {

/// Options of the published program; empty for its equal-split baselines.
std::optional<PiperOptions> options_of(const std::string& planner) {
  PiperOptions options;
  options.rules.knapsack = planner == "piper-exact-knapsack" ? KnapsackRule::exact : KnapsackRule::greedy;
  if (planner.starts_with("equi")) return std::nullopt;
  if (planner == "nodp")
    options.rules.data_parallel = false;
  else if (planner == "notp")
    options.rules.tensor_parallel = false;
  else if (planner == "noar")
    options.rules.recompute = RecomputeMode::never;
  else if (planner == "forcear")
    options.rules.recompute = RecomputeMode::always;
  else if (planner == "allornone")
    options.rules.recompute = RecomputeMode::per_stage;
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
    CHECK(plan->time_per_micro_batch == support::near(row.time_per_micro_batch, 1e-12));
  const auto verdict = support::judge(workload, plan->stages);
  CHECK(verdict.fault == "");
  CHECK(verdict.time_per_micro_batch == support::near(plan->time_per_micro_batch, 1e-12));
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

using Sets = std::vector<std::vector<graph::Vertex>>;

/// Runs as even as can be, the last ones one longer.
Sets even_runs(const std::vector<graph::Vertex>& row, int runs) {
  Sets out;
  const int size = static_cast<int>(row.size()) / runs, longer = static_cast<int>(row.size()) % runs;
  for (auto next = row.begin(); next != row.end() || static_cast<int>(out.size()) < runs;) {
    const auto end = next + size + (static_cast<int>(out.size()) >= runs - longer ? 1 : 0);
    out.emplace_back(next, end);
    next = end;
  }
  return out;
}

/// Operators before the transformer layers join their first run. Operators after them join the last run, or
/// have their own stage (`apart`).
Sets transformer_split(const graph::PiperWorkload& workload, int stages, bool apart) {
  std::vector<graph::Vertex> before, blocks, behind;
  for (graph::Vertex v = 0; v < static_cast<graph::Vertex>(workload.layers.size()); ++v) {
    const bool block =
        workload.layers[static_cast<std::size_t>(v)].name.starts_with("ParallelTransformerLayer");
    const bool reads_block = std::any_of(workload.edges.begin(), workload.edges.end(), [&](const auto& edge) {
      return edge.to == v && std::count(blocks.begin(), blocks.end(), edge.from) > 0;
    });
    (block ? blocks : reads_block ? behind : before).push_back(v);
  }
  const int runs = apart ? stages - 2 : stages;
  if (runs < 1 || runs > static_cast<int>(blocks.size())) return {};
  Sets out = even_runs(blocks, runs);
  if (apart) {
    out.emplace(out.begin());
    out.emplace_back();
  }
  out.front().insert(out.front().end(), before.begin(), before.end());
  out.back().insert(out.back().end(), behind.begin(), behind.end());
  return out;
}

/// Depth first, each layer behind those it reads.
std::vector<graph::Vertex> depth_first(const graph::PiperWorkload& workload) {
  std::vector<graph::Vertex> out;
  const std::function<void(graph::Vertex)> visit = [&](graph::Vertex v) {
    if (std::count(out.begin(), out.end(), v) > 0) return;
    for (const auto& edge : workload.edges)
      if (edge.to == v) visit(edge.from);
    out.push_back(v);
  };
  for (graph::Vertex v = 0; v < static_cast<graph::Vertex>(workload.layers.size()); ++v) visit(v);
  return out;
}

/// One degree of each kind for all stages, recomputation for all or none: the best, or 1e30.
double best_alike(const graph::PiperWorkload& workload, Sets sets, bool tensor_parallel) {
  const auto& setting = workload.setting;
  const int stages = static_cast<int>(sets.size());
  double best = 1e30;
  for (auto& set : sets) std::sort(set.begin(), set.end());
  for (const auto& degree : workload.layers.front().degrees)
    for (int d = 1;
         stages > 0 && stages * d <= setting.micro_batches && stages * d * degree.degree <= setting.devices;
         ++d)
      for (int way : {0, 1}) {
        if (setting.micro_batches % d != 0 || (degree.degree > 1 && !tensor_parallel)) continue;
        std::vector<PiperStage> plan;
        for (const auto& set : sets)
          plan.push_back({set, std::vector<int>(set.size(), way), d, degree.degree});
        if (const auto verdict = support::judge(workload, plan); verdict.fault.empty())
          best = std::min(best, verdict.time_per_micro_batch);
      }
  return best;
}

/// The program's baselines after PipeDream-2BW.
double best_even_split(const graph::PiperWorkload& workload, const std::string& planner) {
  double best = 1e30;
  const auto row = depth_first(workload);
  for (int stages = 1; stages <= std::min(workload.setting.devices, static_cast<int>(row.size())); ++stages) {
    const bool tensor_parallel = !planner.starts_with("equi-notp");
    if (planner == "equi-layers") {
      best = std::min(best, best_alike(workload, even_runs(row, stages), tensor_parallel));
      continue;
    }
    best = std::min(best, best_alike(workload, transformer_split(workload, stages, false), tensor_parallel));
    if (stages >= 3 && !planner.ends_with("nosep"))
      best = std::min(best, best_alike(workload, transformer_split(workload, stages, true), tensor_parallel));
  }
  return best;
}

/// The published program's even splits on few devices or on many.
void check_even_splits(int least_devices, int most_devices) {
  const std::string folder = support::reference_data("piper");
  if (folder.empty()) return;
  for (const char* name : {"bert32a100", "resnet"}) {
    auto workload = graph::load_piper(folder + "/" + name + ".json", graph::PiperTime::seconds);
    for (const auto& row : support::piper_rows(folder + "/piper_results.csv")) {
      if (row.workload != name || !row.planner.starts_with("equi")) continue;
      if (row.setting.devices < least_devices || row.setting.devices > most_devices) continue;
      INFO("K ", row.setting.devices, " M ", row.setting.memory, " N ", row.setting.micro_batches, " ",
           row.planner);
      workload.setting = row.setting;
      CHECK(best_even_split(workload, row.planner) == support::near(row.time_per_micro_batch, 1e-12));
    }
  }
}

}  // namespace

TEST_CASE("piper: only the cost model, on the published program's even splits") {
  check_even_splits(1, 64);
}

TEST_CASE("piper: rows the published program finds in a fifth of a second") {
  walk([](const support::PiperRow& row) { return row.wall_s < 0.2; });
}

TEST_CASE("piper: milliseconds are milliseconds with the option of the import") {
  const std::string folder = support::reference_data("piper");
  if (folder.empty()) return;
  auto as_published = graph::load_piper(folder + "/resnet.json", graph::PiperTime::seconds);
  auto in_seconds = graph::load_piper(folder + "/resnet.json", graph::PiperTime::milliseconds);
  as_published.setting = {8, 4294967296.0, 26843545.6, 7680};  // bytes per millisecond
  in_seconds.setting = {8, 4294967296.0, 26843545600.0, 7680};
  const auto published = piper_search(as_published, {}, {}), seconds = piper_search(in_seconds, {}, {});
  CHECK(published->time_per_micro_batch == support::near(122.66875, 1e-12));
  CHECK(seconds->time_per_micro_batch == support::near(0.12266875, 1e-12));
}

TEST_SUITE("slow") {
  TEST_CASE("piper: only the cost model, on even splits over many devices") {
    check_even_splits(65, 1 << 20);
  }

  TEST_CASE("piper: rows that take the published program longer") {
    walk([](const support::PiperRow& row) { return row.wall_s >= 0.2; });
  }
}
