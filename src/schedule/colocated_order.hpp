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
///
/// Stages behind the pipeline run within its rows, forward and backward at once, as the dense layers of a
/// recommendation model do behind divided tables (Mudigere et al., Software-Hardware Co-design for Fast and
/// Scalable Training of Deep Learning Recommendation Models, ISCA 2022): a micro-batch of theirs goes before
/// the first backward pass of the pipeline that needs it, or one earlier, if the row's own forward passes are
/// done by then, so that messages travel while the rank computes. Throws BadInput where the pipeline holds
/// less in flight than such a micro-batch.
Schedule with_colocated(const plan::Plan& plan, const plan::PipelineOf& pipeline, const Schedule& rows);

}  // namespace penstock::schedule
