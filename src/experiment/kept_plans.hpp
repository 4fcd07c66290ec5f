#pragma once
// The fastest plans of a search that differ in kind.

#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::experiment {

/// Receives every plan that a search evaluates and keeps the fastest valid one of each kind. Kinds differ in
/// degrees of parallelism, schedule, ZeRO stage or recomputation, as most of a plan's stages have it. Plans
/// that take longer than kWithin times the fastest may be missed, or have too short a time, depending on
/// threads; they are never returned. So the result does not depend on the number of threads.
class KeptPlans {
 public:
  static constexpr double kWithin = 1.5;

  using Runnable = std::function<std::optional<plan::Plan>(const plan::Plan&, const plan::Plan*)>;

  /// The problem must outlive it. With `runnable` (SearchOptions::runnable) only plans that it returns unchanged
  /// are kept.
  explicit KeptPlans(const cost::Problem& problem, Runnable runnable = {})
      : problem_(problem), runnable_(std::move(runnable)) {}
  /// `time`: of an iteration; exact if at most kWithin times the minimum so far. Thread-safe.
  void see(const plan::Plan& plan, core::Seconds time);
  /// At most `most` plans, fastest first, of other kinds than `best`; with a flush if `best` has one.
  std::vector<plan::Plan> others(const plan::Plan& best, std::size_t most) const;

 private:
  struct KeptPlan {
    core::Seconds time;
    std::string text;  ///< distinguishes equally fast plans
    plan::Plan plan;
  };
  bool runs(const plan::Plan& plan) const;
  bool wanted(const std::string& kind, core::Seconds time) const;
  void drop_slowest();

  const cost::Problem& problem_;
  Runnable runnable_;
  mutable std::mutex mutex_;
  std::map<std::string, KeptPlan> by_kind_;
  core::Seconds least_{std::numeric_limits<double>::infinity()};
};

/// "PP 8 to 4, ZeRO 0 to 1": what a plan of another kind has otherwise than `best`.
std::string differences(const plan::Plan& best, const plan::Plan& other);

}  // namespace penstock::experiment
