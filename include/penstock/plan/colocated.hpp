#pragma once
// A colocated stage: one that runs on the devices of several others, with degrees of its own.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// The parts of `whole`, whose devices are those of some of the `others`, set after set (heterogeneous
/// parallelism for multimodal models, arXiv 2605.27678, 2026; Megatron-LM's colocated MIMO). A part is a
/// stage with the operators of the whole and the devices of one rank: it runs the whole's replicas that stand
/// there, which compute their share of every micro-batch. So the parts of a stage are stages of a plan as any
/// others are, but that each computes some samples only, and that their gradients are summed over all of them
/// (plan/shared_parameters.hpp). Throws BadInput where the devices are no such sets, or a replica would stand
/// on two ranks.
std::vector<Stage> parts_of(const Stage& whole, const std::vector<Stage>& others);

/// The first part of the colocated stages that a plan lists behind all others, which run between the forward
/// and the backward passes of the pipeline; those before it run before and after it. The number of stages
/// where there is none.
std::size_t behind_pipeline(const Plan& plan);

/// Colocated stages of a plan, each by its parts, which stand in a row; empty where there are none.
std::vector<std::vector<core::StageId>> colocated_stages(const Plan& plan);
bool has_colocated(const Plan& plan);

/// The stage that these are the parts of: their devices in a row, and no part itself.
Stage whole_stage(const Plan& plan, const std::vector<core::StageId>& parts);

/// The plan without its colocated stages: the pipeline that they run around, or within.
struct PipelineOf {
  explicit PipelineOf(const Plan& plan);
  Plan plan;
  std::vector<std::int32_t> stages;  ///< [stage] as the whole plan counts it
};

/// Throws BadInput: `what` knows no colocated stages. For callers of plans that cannot have any.
void refuse_colocated(const Plan& plan, std::string_view what);

/// What is wrong with the parts of a plan's colocated stages: parts that differ in more than devices, that
/// leave out samples or compute some twice, or whose devices are no rank's; a stage that waits for others
/// than colocated ones without being behind the pipeline; unlike micro-batches of those behind it; and what
/// no colocated stage can have: a schedule without a flush, k, `after`, ZeRO 2 and 3, expert parallelism, and
/// operators divided by samples or tokens. Empty when nothing is.
std::vector<std::string> colocated_violations(const graph::OpGraph& graph, const Plan& plan);

}  // namespace penstock::plan
