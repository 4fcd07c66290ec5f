#include "penstock/jobs/job_life.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>

#include "penstock/core/random.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::jobs {
namespace {

constexpr std::array<std::string_view, 3> kPolicies = {"restart", "spare", "shrink"};

class JobSimulation {
 public:
  JobSimulation(const JobSetting& setting, std::uint64_t seed)
      : setting_(setting),
        segment_(setting.interval.value() + setting.costs.checkpoint.value()),
        spares_(setting.spares),
        random_(seed) {}

  JobOutcome run(std::int64_t failures, core::StopToken stop) {
    while (out_.failures < failures) {
      stop.check();
      compute();
      fail();
      restart();
    }
    out_.wall = core::Seconds(now_);
    return out_;
  }

 private:
  /// Draws the time until the next failure, which does not depend on the past.
  double gap() {
    const double alive = static_cast<double>(setting_.replicas - lost_) / setting_.replicas;
    return -std::log(1 - random_.unit()) * setting_.costs.mtbf.value() / alive;
  }

  void advance(double seconds, core::Seconds& part) {
    part += core::Seconds(seconds);
    if (lost_ > 0) out_.shrunk += core::Seconds(seconds);
    now_ += seconds;
  }

  /// Computes and writes checkpoints until a failure.
  void compute() {
    for (double left = gap();;) {
      double whole = std::floor(left / segment_);
      if (lost_ > 0) whole = std::min(whole, std::max(1.0, std::ceil((ready_.front() - now_) / segment_)));
      advance(whole * setting_.interval.value(), out_.computing);
      advance(whole * setting_.costs.checkpoint.value(), out_.checkpoints);
      out_.progress_s += whole * setting_.interval.value() * speed();
      left -= whole * segment_;
      if (left < segment_) return lose(left);
      if (!take_back_repaired()) continue;  // rounding: the repair ends at the next checkpoint
      restart();
      left = gap();
    }
  }

  /// A segment that a failure ends after `seconds`.
  void lose(double seconds) {
    const double computed = std::min(seconds, setting_.interval.value());
    advance(computed, out_.lost);
    advance(seconds - computed, out_.checkpoints);
  }

  void restart() {
    const double whole = setting_.costs.restart.value();
    for (double left = gap(); left < whole; left = gap()) {
      advance(left, out_.restarts);
      fail();
    }
    advance(whole, out_.restarts);
  }

  /// Makes repaired devices replicas again, or spares if none is missing. Returns false if no repair has ended.
  bool take_back_repaired() {
    bool any = false;
    for (; !ready_.empty() && ready_.front() <= now_; ready_.pop_front(), any = true)
      lost_ > 0 ? --lost_ : ++spares_;
    return any;
  }

  /// Counts a failure and finds a replacement for the device.
  void fail() {
    ++out_.failures;
    if (setting_.policy == FaultPolicy::restart) return;
    take_back_repaired();
    ready_.push_back(now_ + setting_.repair.value());
    if (spares_ > 0) {
      --spares_;
    } else if (setting_.policy == FaultPolicy::shrink && lost_ + 1 < setting_.replicas) {
      ++lost_;
    } else {
      out_.waiting += core::Seconds(ready_.front() - now_);
      now_ = ready_.front();
      ready_.pop_front();
    }
  }

  double speed() {
    if (lost_ == 0) return 1;
    const auto known = speeds_.find(lost_);
    return known != speeds_.end() ? known->second
                                  : speeds_.emplace(lost_, setting_.speed_without(lost_)).first->second;
  }

  const JobSetting& setting_;
  double segment_;  ///< seconds from the end of a checkpoint to the end of the next
  double now_ = 0;  ///< seconds since the start
  int spares_;
  int lost_ = 0;              ///< groups of replicas that wait for a repair
  std::deque<double> ready_;  ///< times at which repairs end, ascending
  std::map<int, double> speeds_;
  core::Random random_;
  JobOutcome out_;
};

}  // namespace

std::string_view name(FaultPolicy policy) {
  return kPolicies[static_cast<std::size_t>(policy)];
}

FaultPolicy fault_policy(std::string_view name) {
  return static_cast<FaultPolicy>(core::index_of(name, kPolicies, "policy"));
}

const std::vector<std::string_view>& fault_policy_names() {
  static const std::vector<std::string_view> names(kPolicies.begin(), kPolicies.end());
  return names;
}

JobOutcome job_life(const JobSetting& setting, std::int64_t failures, std::uint64_t seed,
                    core::StopToken stop) {
  return JobSimulation(setting, seed).run(failures, stop);
}

}  // namespace penstock::jobs
