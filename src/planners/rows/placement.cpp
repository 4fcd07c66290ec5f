#include "rows/placement.hpp"

#include <algorithm>
#include <cstddef>

#include "penstock/core/error.hpp"

namespace penstock::planners {
namespace {

struct MachineUse {
  const Occupancy& capacity;
  const Occupancy& used;
  Occupancy taken;
  int missing;

  int free(std::size_t m) const { return capacity[m] - used[m] - taken[m]; }
  void take(std::size_t m, int most) {
    const int count = std::min({most, missing, free(m)});
    taken[m] += count;
    missing -= count;
  }
  /// Takes all free devices of machines in use, or of those not in use.
  void fill(bool in_use) {
    for (std::size_t m = 0; m < used.size(); ++m)
      if ((used[m] > 0) == in_use) take(m, missing);
  }
  int free_in_use() const {
    int sum = 0;
    for (std::size_t m = 0; m < used.size(); ++m)
      if (used[m] > 0) sum += free(m);
    return sum;
  }
  /// Takes one device at a time from each machine in turn.
  void spread() {
    const bool all = free_in_use() < missing;
    while (missing > 0)
      for (std::size_t m = 0; m < used.size(); ++m)
        if (all || used[m] > 0) take(m, 1);
  }
};

}  // namespace

Occupancy placed(PlacementPolicy rule, const Occupancy& capacity, const Occupancy& used, int count) {
  MachineUse machines{capacity, used, Occupancy(used.size()), count};
  if (rule == PlacementPolicy::scatter_first) {
    machines.spread();
  } else {
    machines.fill(rule == PlacementPolicy::append_first);
    machines.fill(rule != PlacementPolicy::append_first);
  }
  core::require(machines.missing == 0, "a stage is given no more devices than are free");
  return machines.taken;
}

}  // namespace penstock::planners
