#pragma once
// Plans that `joint` may choose: completes a changed draft, and checks that it is valid.

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

/// A plan during changes.
struct PlanDraft {
  plan::Plan plan;
  schedule::InFlight rule = schedule::InFlight::depth;  ///< rule for the samples that 1f1b holds in flight
};

/// All plans with a flush on all devices that score::violations accepts, within the user's fixed sizes and
/// limits.
class PlanSpace {
 public:
  /// Problem and options must outlive it. Stages consist of whole `units`.
  PlanSpace(const cost::Problem& problem, const SearchOptions& options, UnitGraph units,
            PlanLimits limits = {});

  /// Returns the next draft that options.runnable allows, changed from `before` (null: from none), or nothing.
  /// Without that option returns the draft itself.
  std::optional<PlanDraft> runnable(PlanDraft draft, const plan::Plan* before) const;
  /// Sorts stages, moves partitions to the stages of their operators, and drops settings without effect.
  /// Returns false if stages wait for each other or are empty.
  bool tidy(PlanDraft& draft) const;
  /// Key of a tidy draft: equal for drafts that differ only in the numbers of equal devices.
  std::string key(const PlanDraft& draft) const;
  /// True if a tidy draft is a valid plan, without checking its order and memory.
  bool well_formed(const plan::Plan& plan) const;
  /// Returns a tidy draft with in-flight counts by its rule, or by `depth` if that does not fit; nothing if
  /// it is not a valid plan. The simulator checks whether 1F1B with different micro-batches can run.
  std::optional<PlanDraft> completed(PlanDraft draft) const;
  /// First operator that is in another stage than the first of its unit; nothing if all units are whole.
  std::optional<core::OpId> torn_off(const plan::Plan& plan) const;
  /// Draft of a finished plan.
  PlanDraft draft_of(const plan::Plan& plan) const;

  const cost::Problem& problem() const { return problem_; }
  const SearchOptions& options() const { return options_; }
  const PlanLimits& limits() const { return limits_; }
  const UnitGraph& units() const { return units_; }
  /// Powers of two that divide the model's tokens and experts, within the limits.
  const std::vector<int>& context_sizes() const { return context_sizes_; }
  const std::vector<int>& expert_sizes() const { return expert_sizes_; }
  /// True if the model is a row of layers (plan/layer_row.hpp).
  bool row_of_layers() const { return row_of_layers_; }
  std::size_t unit_of(core::OpId op) const { return unit_of_[op.index()]; }
  /// Seconds of one micro-batch of this many samples on one device, as weight of a unit.
  double unit_seconds(std::size_t unit, std::int64_t samples) const;
  /// Scales the micro-batch unless it is fixed; a fixed size per replica applies to the present replica
  /// count.
  void scale_micro_batch(plan::Stage& stage, double scale) const;

 private:
  bool pinned_well(const plan::Plan& plan) const;
  bool counted(PlanDraft& draft) const;

  const cost::Problem& problem_;
  const SearchOptions& options_;
  UnitGraph units_;
  PlanLimits limits_;
  std::vector<std::size_t> unit_of_;  ///< [operator] unit
  std::vector<int> context_sizes_, expert_sizes_;
  bool row_of_layers_;
  PlacementForm form_;
};

/// True if stages wait for one another in the order of the list, whatever they read.
bool in_row(const plan::Plan& plan);
/// True if the schedule is 1F1B, whose stages may differ in micro-batch and k.
bool by_count(const plan::Plan& plan);

}  // namespace penstock::planners
