#pragma once
// The strategy file: YAML that a person can read, write and edit.

#include <string>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::core {
class Yaml;
}

namespace penstock::plan {

/// Deterministic text; `parse_plan` reads it back to an equal plan. A stage's `micro_batch` and `in_flight`
/// are samples of all its replicas together, and without a flush, where replicas take turns, of one of them;
/// what that is to a replica, as tables and options count micro-batches, stands behind it.
std::string to_yaml(const graph::OpGraph& graph, const Plan& plan);

/// {gradients: 0.1, activations: 0.5}; what is left out is sent as it is. Throws BadInput naming line and
/// key.
Compression read_compression(const core::Yaml& node);

/// A name of mixed_precision(), or {weights: bf16, gradients: fp32, state: fp32, master: fp32}: what is left
/// out is held as the weights are, master weights are none. Throws BadInput naming line and key.
MixedPrecision read_precision(const core::Yaml& node);
/// The shortest text that read_precision() reads.
std::string written(const MixedPrecision& precision);

/// The plan as it must stand in the plan file of that path, so that model, cluster and schedule are found
/// again where they are files (core::path_for).
Plan written_to(const std::string& file, Plan plan);

/// Whether a text is meant as a plan file: it begins as one, below comments.
bool is_plan_file(const std::string& text);

/// Only what must be known before the operators can be looked up; files as the plan's own folder finds them
/// (core::path_from). Throws BadInput.
struct PlanHead {
  ModelRef model;
  ClusterRef cluster;
};
PlanHead parse_plan_head(const std::string& text, const std::string& file);

/// The whole plan, operators by name in `graph`; a schedule that is a file is found likewise. A stage
/// without `in_flight` gets 0: to be derived. Throws BadInput naming line and key; says nothing of validity
/// beyond that.
Plan parse_plan(const std::string& text, const std::string& file, const graph::OpGraph& graph);

}  // namespace penstock::plan
