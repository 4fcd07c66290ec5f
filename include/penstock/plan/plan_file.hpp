#pragma once
// The plan file: YAML that a person can read, write and edit.

#include <string>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::core {
class Yaml;
}

namespace penstock::plan {

/// Deterministic text; `parse_plan` reads it back to an equal plan. A stage's `micro_batch` and `in_flight`
/// count samples of all replicas, or of one replica without a flush, where replicas take turns. A YAML
/// comment states the share of one replica, in which tables and options count micro-batches.
std::string to_yaml(const graph::OpGraph& graph, const Plan& plan);

/// Reads {gradients: 0.1, activations: 0.5}; default 1 each. Throws BadInput naming line and key.
Compression read_compression(const core::Yaml& node);

/// Reads a name of mixed_precision(), or {weights: bf16, gradients: fp32, state: fp32, master: fp32}. Keys
/// left out default to the precision of the weights, and `master` to no master weights. Throws BadInput
/// naming line and key.
MixedPrecision read_precision(const core::Yaml& node);
/// The shortest text that read_precision() reads.
std::string written(const MixedPrecision& precision);

/// Returns the plan as it must be written to the file at this path, so that model, cluster and schedule files
/// are found from there (core::path_for).
Plan written_to(const std::string& file, Plan plan);

/// True if a text looks like a plan file: it begins as one, after comments.
bool is_plan_file(const std::string& text);

/// The parts of a plan that must be known before operators can be looked up. Paths are resolved from the
/// folder of the plan file (core::path_from). Throws BadInput.
struct PlanHead {
  ModelRef model;
  ClusterRef cluster;
};
PlanHead parse_plan_head(const std::string& text, const std::string& file);

/// Parses the whole plan, with operators by their names in `graph`; a schedule file is resolved like model
/// and cluster. A stage without `in_flight` gets 0, which means: to be derived. Throws BadInput naming line
/// and key. Does not check validity beyond that.
Plan parse_plan(const std::string& text, const std::string& file, const graph::OpGraph& graph);

}  // namespace penstock::plan
