#include <fmt/format.h>

#include "baselines/balanced_cuts.hpp"
#include "families.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

/// Stage cost to equalise, for one micro-batch size.
using CostOf = RunCost (*)(const cost::Problem&, const UnitGraph&, const EvenRow&);

RunCost time_of(const cost::Problem& problem, const UnitGraph& units, const EvenRow& row) {
  return RunTimes(problem, units, row.micro_batch, 1, bool(row.recompute));
}

/// Bytes of weights, gradients, state, and saved tensors of the whole mini-batch. Sums over operators, as in
/// torchgpipe's balance_by_size: without buffers and savings by recomputation.
RunCost memory_of(const cost::Problem& problem, const UnitGraph& units, const EvenRow&) {
  cost::MemoryRule rule = problem.memory;
  rule.transient = false;
  std::vector<double> until(1, 0.0);
  for (const auto& unit : units.operators) {
    cost::StageLoad load = cost::stage_load(problem, unit);
    load.inputs = core::Bytes(0);
    const auto memory = cost::stage_memory(load, rule, problem.training, 1, problem.training.mini_batch);
    until.push_back(until.back() + static_cast<double>(plan::total(memory).value()));
  }
  return [until = std::move(until)](std::size_t, std::size_t begin, std::size_t end) {
    return until[end] - until[begin];
  };
}

SearchResult equal(const cost::Problem& problem, const SearchOptions& options, CostOf cost_of,
                   const char* planner, core::StopToken stop) {
  refuse_size_per_stage(options, planner);
  refuse_k(options, planner);
  const UnitGraph units = planning_units(problem.graph);
  const std::size_t stages = problem.cluster.size(), size = units.operators.size();
  std::vector<EvenRow> rows;
  for (std::int64_t micro_batch : shared_sizes(problem, options, 1))
    for (const plan::Recomputation& recompute : {plan::Recomputation(), plan::kRecomputeStage})
      rows.push_back({stages, 1, micro_batch, 1, "gpipe", recompute});
  if (size < stages) rows.clear();
  const auto cut = [&](const EvenRow& row) {
    return BalancedCuts(stages, size, cost_of(problem, units, row), stop).ends(stages, size);
  };
  const auto none = fmt::format("{} operators cannot make one stage for each of {} devices", size, stages);
  return fastest(problem, options, units, rows, cut, none, stop);
}

}  // namespace

// Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", NeurIPS
// 2019: one stage per device, fill-drain, recomputation (section 2.3). The paper leaves the cut to the user
// or "a heuristic". Ours minimises the largest stage; torchgpipe (Kim et al., 2020) balances blocks of a
// sequence by time or by size. Differs: recomputes only if needed to fit, or if faster; GPipe always does.
SearchResult gpipe_equal(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return equal(problem, options, time_of, "gpipe_equal", stop);
}

SearchResult gpipe_memory(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return equal(problem, options, memory_of, "gpipe_memory", stop);
}

}  // namespace penstock::planners
