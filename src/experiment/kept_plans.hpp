#pragma once
// The fastest plans of a search that differ in kind.

#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::experiment {

/// Sees every plan that a search judges and keeps the fastest valid one of each kind: of other degrees of
/// parallelism, another schedule, ZeRO stage or recomputation, as most of its stages have it. Plans that take
/// longer than kWithin times the fastest may not be seen, or with too little time, by chance of threads: they
/// are never given out. So the answer is the same for any number of threads.
class KeptPlans {
 public:
  static constexpr double kWithin = 1.5;

  /// The problem must outlive it.
  explicit KeptPlans(const cost::Problem& problem) : problem_(problem) {}
  /// `time`: of an iteration; exact where it is at most kWithin times the least so far. From any thread.
  void see(const plan::Plan& plan, core::Seconds time);
  /// At most `most`, fastest first, of other kinds than `best`; with a flush where `best` has one.
  std::vector<plan::Plan> others(const plan::Plan& best, std::size_t most) const;

 private:
  struct Kept {
    core::Seconds time;
    std::string text;  ///< tells equally fast plans apart
    plan::Plan plan;
  };
  bool wanted(const std::string& kind, core::Seconds time) const;
  void drop_slowest();

  const cost::Problem& problem_;
  mutable std::mutex mutex_;
  std::map<std::string, Kept> by_kind_;
  core::Seconds least_{std::numeric_limits<double>::infinity()};
};

/// "PP 8 to 4, ZeRO 0 to 1": what a plan of another kind has otherwise than `best`.
std::string differences(const plan::Plan& best, const plan::Plan& other);

}  // namespace penstock::experiment
