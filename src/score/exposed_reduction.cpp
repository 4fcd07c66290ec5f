#include "exposed_reduction.hpp"

#include <algorithm>
#include <limits>

namespace penstock::score {

using core::Seconds;

ExposedReduction::ExposedReduction(const cost::Problem& problem, const plan::Stage& stage,
                                   const std::vector<core::OpId>& reduced)
    : stage_(stage) {
  if (!plan::reduces_gradients(stage)) return;
  buckets_ = cost::buckets(problem, stage);
  Seconds sum(0);
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
    std::vector<core::OpId> mine;
    for (const core::OpId op : bucket->operators)
      if (std::binary_search(reduced.begin(), reduced.end(), op)) mine.push_back(op);
    for (const cost::Reduction& reduction : cost::reductions(problem, stage, mine))
      sum += cost::time(problem.cluster, reduction);
    reducing_.push_back(sum);
  }
  std::reverse(reducing_.begin(), reducing_.end());
  if (buckets_.size() > 1)
    for (const cost::Bucket& bucket : buckets_) passing_.emplace_back(problem, stage, bucket.operators);
}

Seconds ExposedReduction::time(std::size_t replica, std::int64_t samples) {
  Seconds longest(0), passing(0);
  for (std::size_t b = buckets_.size(); b-- > 0;) {
    // From when this bucket is full, what is left of the pass hides what is left to reduce.
    longest = std::max(longest, reducing_[b] - passing);
    if (passing_.empty()) return longest;
    const cost::OpTime piece = passing_[b].time(replica, samples).total();
    passing += piece.recompute + piece.backward();
  }
  constexpr Seconds kRounding(1e-12);
  return std::max(Seconds(0), longest - kRounding * static_cast<double>(buckets_.size()));
}

Seconds ExposedReduction::least() {
  Seconds least(std::numeric_limits<double>::infinity());
  const std::int64_t replicas = stage_.replicas();
  for (std::int64_t r = 0; r < replicas; ++r) {
    const std::int64_t share = stage_.micro_batch * (r + 1) / replicas - stage_.micro_batch * r / replicas;
    least = std::min(least, time(static_cast<std::size_t>(r), std::max<std::int64_t>(1, share)));
  }
  return least;
}

}  // namespace penstock::score
