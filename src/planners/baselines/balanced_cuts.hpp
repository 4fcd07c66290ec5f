#pragma once
// Cuts of a sequence into runs that minimise the maximum cost.

#include <cstddef>
#include <functional>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// Cost of units [begin, end) as run number `run`; must not decrease with more units.
using RunCost = std::function<double(std::size_t run, std::size_t begin, std::size_t end)>;

/// Exact cuts of every prefix of a sequence into every number of non-empty runs, by dynamic programming over
/// the last run. Among equal cuts, the one with the shortest last run.
class BalancedCuts {
 public:
  BalancedCuts(std::size_t runs, std::size_t units, const RunCost& cost, core::StopToken stop = {});

  /// End (one past the last unit) of each run, for the first `units` of the sequence; 1 <= runs <= units.
  std::vector<std::size_t> ends(std::size_t runs, std::size_t units) const;
  double costliest(std::size_t runs, std::size_t units) const { return at(runs, units).costliest; }

 private:
  struct CutChoice {
    double costliest;
    std::size_t begin;  ///< begin of the last run
  };
  const CutChoice& at(std::size_t runs, std::size_t units) const {
    return table_[(runs - 1) * (units_ + 1) + units];
  }
  CutChoice last_run(std::size_t run, std::size_t units, const RunCost& cost) const;

  std::size_t units_;
  std::vector<CutChoice> table_;  ///< [runs - 1][units]
};

}  // namespace penstock::planners
