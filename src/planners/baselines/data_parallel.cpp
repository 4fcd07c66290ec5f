#include <fmt/format.h>

#include <algorithm>

#include "candidates.hpp"
#include "families.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

/// Rows of the smallest ZeRO stage with which some row fits; all rows if none fits, so that the error is
/// about the row with the least memory.
std::vector<EvenRow> least_zero(const cost::Problem& problem, const UnitGraph& units,
                                const std::vector<EvenRow>& rows, core::StopToken stop) {
  std::vector<EvenRow> all;
  const int stages = problem.cluster.size() > 1 ? 3 : 0;  // a single device cannot share
  for (int zero = 0; zero <= stages; ++zero) {
    std::vector<EvenRow> some = rows;
    for (EvenRow& row : some) row.zero = zero;
    const auto fit = [&](const EvenRow& row) {
      stop.check();
      return fits(problem, row_plan(problem, units, row, {units.operators.size()}));
    };
    if (std::any_of(some.begin(), some.end(), fit)) return some;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<core::OpId> all_operators(const UnitGraph& units) {
  std::vector<core::OpId> out;
  for (const auto& unit : units.operators) out.insert(out.end(), unit.begin(), unit.end());
  return out;
}

}  // namespace

// One stage on all devices, with gradients reduced once per iteration. Micro-batches are the steps over which
// gradients are accumulated; the fastest power of two that fits is chosen. Replicas shard optimizer state,
// gradients or weights (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models", SC 2020, section 5) only if nothing fits with less sharding. The same holds for rows that
// recompute layers or attention's cores, which may need less sharding.
SearchResult data_parallel(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  if (options.k < 1) throw core::BadInput("k must be at least 1");
  const UnitGraph units = planning_units(problem.graph);
  const int devices = static_cast<int>(problem.cluster.size());
  std::vector<EvenRow> rows;
  for (std::int64_t size : shared_sizes(problem, options, devices))
    rows.push_back({1, devices, size, options.k, "1f1b"});
  const auto whole = [&](const EvenRow&) { return std::vector{units.operators.size()}; };
  const auto none =
      options.micro_batch
          ? fmt::format("micro-batches of {} samples on each of {} replicas do not divide the mini-batch {}",
                        *options.micro_batch, devices, problem.training.mini_batch)
          : fmt::format("no micro-batch that divides the mini-batch {} has a sample for each of {} replicas",
                        problem.training.mini_batch, devices);
  std::vector<EvenRow> tried = least_zero(problem, units, rows, stop);
  for (const plan::Recomputation& how : {plan::kRecomputeCore, plan::kRecomputeLayers}) {
    if (!plan::applies(problem.graph, all_operators(units), how)) continue;
    for (EvenRow& row : rows) row.recompute = how;
    const auto again = least_zero(problem, units, rows, stop);
    tried.insert(tried.end(), again.begin(), again.end());
  }
  return fastest(problem, options, units, tried, whole, none, stop);
}

}  // namespace penstock::planners
