#pragma once
// The plans that `joint` may choose: what a change leaves undone is made good here, and judged valid or not.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "joint/plan_limits.hpp"
#include "local/placement_form.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "units.hpp"

namespace penstock::planners {

/// A plan under change.
struct Draft {
  plan::Plan plan;
  schedule::InFlight rule = schedule::InFlight::depth;  ///< of samples that 1f1b holds in flight
};

/// Every plan with a flush that score::violations accepts, on all devices, as far as the user's pins and
/// limits allow.
class PlanSpace {
 public:
  /// Problem and options must outlive it. Stages are of whole `units`.
  PlanSpace(const cost::Problem& problem, const SearchOptions& options, Units units, PlanLimits limits = {});

  /// Puts stages in order, partitions of operators where these are now, and drops settings that say nothing;
  /// false where stages wait for each other, or are empty.
  bool tidy(Draft& draft) const;
  /// Of a tidy draft: equal for those that differ by the numbers of like devices alone.
  std::string key(const Draft& draft) const;
  /// Whether a tidy draft is a valid plan, as far as can be said without its order and its memory.
  bool well_formed(const plan::Plan& plan) const;
  /// A tidy draft with in-flight counts by its rule, by `depth` where that does not fit; nothing when it is
  /// no valid plan. Whether 1F1B of unlike micro-batches can run is left to the simulator.
  std::optional<Draft> completed(Draft draft) const;
  /// The first operator that is in another stage than the first of its unit; nothing where all are whole.
  std::optional<core::OpId> torn_off(const plan::Plan& plan) const;
  /// What a finished plan is changed from.
  Draft draft_of(const plan::Plan& plan) const;

  const cost::Problem& problem() const { return problem_; }
  const SearchOptions& options() const { return options_; }
  const PlanLimits& limits() const { return limits_; }
  const Units& units() const { return units_; }
  /// Powers of two that the model's tokens and experts can be divided over, within the limits.
  const std::vector<int>& context_sizes() const { return context_sizes_; }
  const std::vector<int>& expert_sizes() const { return expert_sizes_; }
  /// Whether the model is one (plan/layer_row.hpp).
  bool row_of_layers() const { return row_of_layers_; }
  std::size_t unit_of(core::OpId op) const { return unit_of_[op.index()]; }
  /// Seconds of one micro-batch of so many samples on one device, to weigh units by.
  double unit_seconds(std::size_t unit, std::int64_t samples) const;
  /// As far as it is not pinned; to what is pinned of a replica, which may be of another size now.
  void scale_micro_batch(plan::Stage& stage, double scale) const;

 private:
  bool pinned_well(const plan::Plan& plan) const;
  bool counted(Draft& draft) const;

  const cost::Problem& problem_;
  const SearchOptions& options_;
  Units units_;
  PlanLimits limits_;
  std::vector<std::size_t> unit_of_;  ///< [operator]
  std::vector<int> context_sizes_, expert_sizes_;
  bool row_of_layers_;
  PlacementForm form_;
};

/// Whether stages wait for one another in the order of the list, whatever they read.
bool in_row(const plan::Plan& plan);
/// Whether the schedule is 1F1B, whose stages may differ in micro-batch and k.
bool by_count(const plan::Plan& plan);

}  // namespace penstock::planners
