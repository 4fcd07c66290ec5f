#include "exposed_reduction.hpp"

#include <algorithm>
#include <limits>

namespace penstock::score {

using core::Seconds;

ExposedReduction::ExposedReduction(const cost::Problem& problem, const plan::Stage& stage,
                                   const std::vector<core::OpId>& reduced)
    : problem_(problem), stage_(stage) {
  if (!plan::reduces_gradients(stage)) return;
  cost::OperatorSets all, mine;
  for (cost::GradientBucket& bucket : cost::buckets(problem, stage)) {
    auto& kept = mine.emplace_back();
    for (const core::OpId op : bucket.operators)
      if (std::binary_search(reduced.begin(), reduced.end(), op)) kept.push_back(op);
    all.push_back(std::move(bucket.operators));
  }
  const auto timed = cost::timed_reductions(problem, stage, mine);
  for (const auto& reductions : *timed) {
    reducing_.emplace_back(0);
    for (const cost::TimedReduction& reduction : reductions) reducing_.back() += reduction.time;
    roundings_ += reductions.size();
  }
  for (std::size_t b = reducing_.size() - 1; b-- > 0;) reducing_[b] += reducing_[b + 1];
  if (all.size() > 1) {
    roundings_ += all.size();
    passing_.emplace(problem, stage, std::move(all));
  }
}

Seconds ExposedReduction::time(std::size_t replica, std::int64_t samples) {
  if (reducing_.empty()) return Seconds(0);
  if (!passing_) return rounded_down(reducing_.front());
  if (stage_.replica_size() > 1) return left(replica, samples);  // groups communicate over links of their own
  const std::size_t type = problem_.cluster.devices()[stage_.devices[replica].index()].type;
  const auto [known, fresh] = known_.try_emplace({type, samples});
  if (fresh) known->second = left(replica, samples);
  return known->second;
}

Seconds ExposedReduction::left(std::size_t replica, std::int64_t samples) {
  const auto pieces = passing_->times(replica, samples);
  Seconds longest(0), passing(0);
  for (std::size_t b = reducing_.size(); b-- > 0;) {
    // From when this bucket is full, the rest of the pass hides the remaining reductions.
    longest = std::max(longest, reducing_[b] - passing);
    const cost::OpTime piece = pieces[b].total();
    passing += piece.recompute + piece.backward();
  }
  return rounded_down(longest);
}

Seconds ExposedReduction::rounded_down(Seconds time) const {
  constexpr Seconds kRounding(1e-12);
  if (roundings_ < 2) return time;
  return std::max(Seconds(0), time - kRounding * static_cast<double>(roundings_));
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
