#pragma once
// A plan as a pipeline of machines and times, and a lower bound on its iteration for any order.

#include <optional>
#include <string>

#include "penstock/cost/problem.hpp"
#include "penstock/score/pipeline_bounds.hpp"
#include "penstock/score/problem_bound.hpp"

namespace penstock::score {

/// True if all stages have one micro-batch size; only such plans are pipelines in the sense of
/// schedule::Pipeline.
bool one_micro_batch_size(const plan::Plan& plan);

/// True if there is a flush after every mini-batch, one stage per device, and gradients leave a stage at the
/// end of its backward pass.
bool whole_backwards(const plan::Plan& plan);

/// Returns a pipeline with one machine per device, each with its share of every micro-batch, and one link per
/// pair of devices that exchange samples. Room is the stage's in-flight count; no count means no limit. Links
/// that share a cable do not share bandwidth here and times are rounded down, so bounds hold for any network
/// model. The plan must be structurally valid (plan::structural_violations). Throws BadInput for stages of
/// different micro-batch sizes and for colocated stages.
schedule::Pipeline device_pipeline(const cost::Problem& problem, const plan::Plan& plan);

/// Returns a pipeline with one machine per stage, as slow as its slowest replica, and one link per boundary,
/// as slow as its slowest message. For list ordering, where the replicas of a stage follow one order. Not a
/// base for bounds if replicas differ: a sample may avoid the slowest replica of some stage. Throws like
/// device_pipeline.
schedule::Pipeline pipeline_of(const cost::Problem& problem, const plan::Plan& plan);

struct PlanBound {
  BoundKind kind;
  std::string where;  ///< "device 3 (stage 1)" or "devices 3 to 5 (stage 1 to 2)"
  core::Picoseconds time;
};

/// Lower bound on the iteration for every order of whole passes within the in-flight counts. Returns nothing
/// if micro-batch sizes differ, or if the schedule splits backward passes, shares devices or does not flush:
/// an input gradient that leaves early could be faster.
std::optional<PlanBound> lower_bound(const cost::Problem& problem, const plan::Plan& plan,
                                     ReductionTiming reduction = ReductionTiming::closed_form);

}  // namespace penstock::score
