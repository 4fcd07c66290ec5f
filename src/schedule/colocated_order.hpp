#pragma once
// Adds colocated stages to the rows of a plan.

#include "penstock/plan/colocated.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Returns the rows of all of `plan`; `rows` are those of its pipeline. Each rank first runs all forward
/// passes of its colocated parts, one stage after the other. Then it runs its row of the pipeline, then the
/// backward passes of those parts, last stage first. These are the three phases of Megatron-LM's colocated
/// MIMO (pull request 4784, 2026). In Megatron-LM one pass of an encoder takes the whole mini-batch, which is
/// one micro-batch here. Several micro-batches hold as much until their backward passes, but recomputation
/// needs room for only one.
///
/// Stages behind the pipeline run within its rows, forward and backward at once. Dense layers of a
/// recommendation model do so behind divided tables (Mudigere et al., Software-Hardware Co-design for Fast
/// and Scalable Training of Deep Learning Recommendation Models, ISCA 2022). Their micro-batch goes before
/// the first backward pass of the pipeline that needs it. It goes one pass earlier if the row's own forward
/// passes are done by then, so that messages travel while the rank computes. Throws BadInput if the pipeline
/// holds less in flight than such a micro-batch.
Schedule with_colocated(const plan::Plan& plan, const plan::PipelineOf& pipeline, const Schedule& rows);

}  // namespace penstock::schedule
