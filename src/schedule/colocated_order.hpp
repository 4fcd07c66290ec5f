#pragma once
// Colocated stages in the rows of a plan.

#include "penstock/plan/colocated.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Rows of all of `plan`: `rows` are those of its pipeline. Each rank runs all forward passes of its parts of
/// colocated stages, one stage after the other, then its row of the pipeline, then the backward passes of
/// those parts, the last stage first: the three phases of Megatron-LM's colocated MIMO (pull request 4784,
/// 2026). There one pass of an encoder takes the whole mini-batch, which is one micro-batch here; several
/// hold no less until their backward passes, but recomputation needs room for one.
Schedule with_colocated(const plan::Plan& plan, const plan::PipelineOf& pipeline, const Schedule& rows);

}  // namespace penstock::schedule
