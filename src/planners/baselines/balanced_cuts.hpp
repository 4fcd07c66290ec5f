#pragma once
// A row cut into runs whose costliest is as cheap as can be.

#include <cstddef>
#include <functional>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// Cost of units [begin, end) as run number `run`: never less for more units.
using RunCost = std::function<double(std::size_t run, std::size_t begin, std::size_t end)>;

/// Exact cuts of every prefix of a row into every number of non-empty runs, by dynamic programming over the
/// last run; of equal cuts the one whose last run is shortest.
class BalancedCuts {
 public:
  BalancedCuts(std::size_t runs, std::size_t units, const RunCost& cost, core::StopToken stop = {});

  /// One past the last unit of each run, for the first `units` of the row; 1 <= runs <= units.
  std::vector<std::size_t> ends(std::size_t runs, std::size_t units) const;
  double costliest(std::size_t runs, std::size_t units) const { return at(runs, units).costliest; }

 private:
  struct Cut {
    double costliest;
    std::size_t begin;  ///< of the last run
  };
  const Cut& at(std::size_t runs, std::size_t units) const {
    return table_[(runs - 1) * (units_ + 1) + units];
  }
  Cut last_run(std::size_t run, std::size_t units, const RunCost& cost) const;

  std::size_t units_;
  std::vector<Cut> table_;  ///< [runs - 1][units]
};

}  // namespace penstock::planners
