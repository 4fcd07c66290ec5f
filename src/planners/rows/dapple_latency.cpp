#include "rows/dapple_latency.hpp"

#include <algorithm>

namespace penstock::planners {
namespace {

/// Ending phase T_e.
double ending(const std::vector<PhaseTimes>& row, std::size_t pivot) {
  double longest = LatencyTail::kNone, backward = 0;
  for (std::size_t s = pivot + 1; s-- > 0;) {
    backward += row[s].backward;
    longest = std::max(longest, row[s].reduce + backward);
  }
  backward = 0;
  for (std::size_t s = pivot + 1; s < row.size(); ++s) {
    backward += row[s].backward;
    longest = std::max(longest, row[s].reduce - backward);
  }
  return longest;
}

}  // namespace

double dapple_latency(const std::vector<PhaseTimes>& row, int micro_batches) {
  double longest = LatencyTail::kNone, warm_up = 0;
  for (std::size_t pivot = 0; pivot < row.size(); ++pivot) {
    warm_up += row[pivot].forward;
    longest = std::max(longest, warm_up + (micro_batches - 1) * row[pivot].both() + ending(row, pivot));
  }
  return longest;
}

LatencyTail in_front(const PhaseTimes& stage, const LatencyTail& rest, int micro_batches) {
  const double steady = (micro_batches - 1) * stage.both();
  LatencyTail out;
  out.reduce = std::max(stage.reduce, rest.reduce) - stage.backward;
  out.behind = stage.both() + std::max(steady, rest.behind);
  out.whole =
      std::max({stage.forward + rest.whole, stage.reduce + out.behind, stage.forward + steady + rest.reduce});
  return out;
}

}  // namespace penstock::planners
