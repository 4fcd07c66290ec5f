#include <set>

#include "families.hpp"

namespace penstock::schedule {
namespace {

/// One rank of 1F1B with room for `limit` activations. If there is no room, the newest activation is evicted,
/// because its backward is the latest. Activations on the partner are loaded while the pass before their
/// backward runs.
class ActivationParking {
 public:
  ActivationParking(const RankOrder& row, int limit) : limit_(static_cast<std::size_t>(limit)) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c + 1 < row.size() && row[c].kind == ActionKind::forward) fetch(row[c + 1], limit_ - 1);
      if (row[c].kind == ActionKind::backward) fetch(row[c], limit_);
      run(row[c]);
    }
  }
  RankOrder finish() && { return std::move(out_); }

 private:
  void run(const Action& pass) {
    const auto here = [&] { return resident_.size(); };
    if (pass.kind == ActionKind::backward) {
      resident_.erase(pass.micro_batch);
    } else {
      while (here() >= limit_) evict(pass.stage);
      resident_.insert(pass.micro_batch);
    }
    out_.push_back(pass);
  }

  /// Loads what the backward needs, into at most `room` places.
  void fetch(const Action& pass, std::size_t room) {
    if (pass.kind != ActionKind::backward || !parked_.contains(pass.micro_batch)) return;
    while (resident_.size() >= room) evict(pass.stage);
    out_.push_back({ActionKind::load, pass.stage, pass.micro_batch});
    parked_.erase(pass.micro_batch);
    resident_.insert(pass.micro_batch);
  }

  void evict(int stage) {
    const int last = *resident_.rbegin();
    resident_.erase(last);
    parked_.insert(last);
    out_.push_back({ActionKind::evict, stage, last});
  }

  std::size_t limit_;
  std::set<int> resident_, parked_;
  RankOrder out_;
};

}  // namespace

Schedule bpipe(const ScheduleShape& shape) {
  // Ranks r and p-1-r hold p-r and r+1, plus one while activations are exchanged: p+2 in total.
  const int least = (shape.ranks + 3) / 2, limit = shape.memory_limit.value_or(least);
  demand(limit >= least, "a memory limit of at least (p+2)/2, rounded up");
  Schedule schedule = one_f_one_b(shape);
  for (RankOrder& row : schedule.ranks) row = ActivationParking(row, limit).finish();
  return schedule;
}

}  // namespace penstock::schedule
