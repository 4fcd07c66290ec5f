#include "baselines/balanced_cuts.hpp"

#include <algorithm>
#include <limits>

namespace penstock::planners {
namespace {

constexpr std::size_t kBetweenChecks = 64;

}  // namespace

BalancedCuts::BalancedCuts(std::size_t runs, std::size_t units, const RunCost& cost, core::StopToken stop)
    : units_(units) {
  for (std::size_t run = 0; run < runs; ++run)
    for (std::size_t end = 0; end <= units; ++end) {
      if (end % kBetweenChecks == 0) stop.check();
      table_.push_back(last_run(run, end, cost));
    }
}

BalancedCuts::CutChoice BalancedCuts::last_run(std::size_t run, std::size_t units,
                                               const RunCost& cost) const {
  CutChoice best{std::numeric_limits<double>::infinity(), 0};
  if (run == 0) return units > 0 ? CutChoice{cost(0, 0, units), 0} : best;
  for (std::size_t begin = units; begin-- > run;) {
    const double last = cost(run, begin, units);
    if (last >= best.costliest) break;  // longer runs do not cost less
    const double all = std::max(last, at(run, begin).costliest);
    if (all < best.costliest) best = {all, begin};
  }
  return best;
}

std::vector<std::size_t> BalancedCuts::ends(std::size_t runs, std::size_t units) const {
  std::vector<std::size_t> out(runs);
  for (; runs > 0; --runs) {
    out[runs - 1] = units;
    units = at(runs, units).begin;
  }
  return out;
}

}  // namespace penstock::planners
