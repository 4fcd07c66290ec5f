#pragma once
// Colocated stages: each runs on the devices of several other stages, with its own degrees of parallelism.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Divides `whole` into parts, one per device set of the `others` that it spans (heterogeneous parallelism
/// for multimodal models, arXiv 2605.27678, 2026; Megatron-LM's colocated MIMO). A part is a stage with the
/// operators of the whole and the devices of one rank. It runs those replicas of the whole that lie on these
/// devices, and they compute their share of every micro-batch. Parts differ from other stages in two ways:
/// each computes only some of the samples, and gradients are summed over all parts
/// (plan/shared_parameters.hpp). Throws BadInput if the devices are not a sequence of such sets, or if a
/// replica would span two ranks.
std::vector<Stage> parts_of(const Stage& whole, const std::vector<Stage>& others);

/// Index of the first part of the colocated stages that the plan lists behind all other stages. These run
/// between the forward and the backward passes of the pipeline; other colocated stages run before and after
/// it. Returns the number of stages if there is none.
std::size_t behind_pipeline(const Plan& plan);

/// Colocated stages of a plan, each as the consecutive indices of its parts; empty if there are none.
std::vector<std::vector<core::StageId>> colocated_stages(const Plan& plan);
bool has_colocated(const Plan& plan);

/// Returns the stage that was divided into `parts`, with their devices in order; it is not a part itself.
Stage whole_stage(const Plan& plan, const std::vector<core::StageId>& parts);

/// A plan without its colocated stages: the pipeline that they run before and after, or within.
struct PipelineOf {
  explicit PipelineOf(const Plan& plan);
  Plan plan;
  std::vector<std::int32_t> stages;  ///< [stage of the pipeline] stage of the whole plan
};

/// Throws BadInput if the plan has colocated stages; `what` names the feature that does not support them.
void refuse_colocated(const Plan& plan, std::string_view what);

/// Violations of a plan's colocated stages, in words; empty if there are none. Parts may differ only in their
/// devices, which must be those of one rank; together they compute every sample once. A colocated stage that
/// is not behind the pipeline may wait only for colocated stages. Those behind it need equal micro-batches.
/// Not supported in colocated stages: a schedule without a flush, k, `after`, ZeRO 2 and 3, expert
/// parallelism, and operators divided by samples or tokens.
std::vector<std::string> colocated_violations(const graph::OpGraph& graph, const Plan& plan);

}  // namespace penstock::plan
