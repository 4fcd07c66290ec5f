#pragma once
// A plan as a pipeline of machines and times, and the iteration time that none of its orders beats.

#include <optional>
#include <string>

#include "penstock/cost/problem.hpp"
#include "penstock/score/pipeline_bounds.hpp"
#include "penstock/score/problem_bound.hpp"

namespace penstock::score {

/// Only such plans are pipelines in the sense of schedule::Pipeline.
bool one_micro_batch_size(const plan::Plan& plan);

/// A flush after every mini-batch, one stage per device, and gradients that leave a stage with the end of its
/// backward pass.
bool whole_backwards(const plan::Plan& plan);

/// One machine per device, stage after stage, with its own share of every micro-batch, and one link per pair
/// of devices that exchange samples. Room is the stage's in-flight count; a stage without one has no limit.
/// Links that share a cable do not meet here and times are rounded down, so bounds hold whatever the network
/// model. The plan must be structurally valid (plan::structural_violations). Throws BadInput for stages of
/// different micro-batch sizes, and for colocated ones.
schedule::Pipeline device_pipeline(const cost::Problem& problem, const plan::Plan& plan);

/// One machine per stage, as slow as its slowest replica, and one link per boundary, as slow as its slowest
/// message: for list ordering, where the replicas of a stage follow one order. No base for bounds where
/// replicas differ: no sample need pass the slowest replica of every stage. Throws as above.
schedule::Pipeline pipeline_of(const cost::Problem& problem, const plan::Plan& plan);

struct PlanBound {
  BoundKind kind;
  std::string where;  ///< "device 3 (stage 1)" or "devices 3 to 5 (stage 1 to 2)"
  core::Picoseconds time;
};

/// Lower bound on the iteration for every order of whole passes within the in-flight counts. Nothing where
/// micro-batch sizes differ, and for plans whose schedule splits backward passes, shares devices or does not
/// flush: an input gradient that leaves early beats it.
std::optional<PlanBound> lower_bound(const cost::Problem& problem, const plan::Plan& plan,
                                     Reduction reduction = Reduction::closed_form);

}  // namespace penstock::score
