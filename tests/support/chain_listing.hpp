#pragma once
// A slow twin of the planners' dynamic programme, for chains only.

#include <optional>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/score/estimate.hpp"

namespace penstock::support {

/// GraphPipe's Algorithm 1 (ASPLOS 2025, section 5) read literally: an interval of operators is one stage, or
/// is cut in two at any place with any division of the devices. The right half is planned first and the left
/// half sees its first stage. Nothing is pruned and no interval has a table of its own beyond (interval,
/// level, devices).
class ChainListing {
 public:
  /// All stages take this micro-batch size; replica counts are powers of two.
  ChainListing(const cost::Problem& problem, std::int64_t micro_batch);
  /// Micro-batches the first stage holds at least, with every stage within the bound (seconds per sample) and
  /// memory and all devices used. Nothing when there is no such partition.
  std::optional<int> least_level(double bound) const;
  /// Times of any stage with any number of devices, ascending: only these bounds distinguish partitions.
  std::vector<double> stage_times() const;

 private:
  double time(int first, int last, int devices) const;
  bool fits(int first, int last, int devices, int level) const;
  const cost::Problem& problem_;
  std::int64_t micro_batch_;
  score::AssumedNetwork network_;
};

}  // namespace penstock::support
