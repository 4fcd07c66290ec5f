#pragma once
// The strategy file: YAML that a person can read, write and edit.

#include <string>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::core {
class Yaml;
}

namespace penstock::plan {

/// Deterministic text; `parse_plan` reads it back to an equal plan.
std::string to_yaml(const graph::OpGraph& graph, const Plan& plan);

/// {gradients: 0.1, activations: 0.5}; what is left out is sent as it is. Throws BadInput naming line and
/// key.
Compression read_compression(const core::Yaml& node);

/// Only what must be known before the operators can be looked up. Throws BadInput.
struct PlanHead {
  ModelRef model;
  ClusterRef cluster;
};
PlanHead parse_plan_head(const std::string& text, const std::string& file);

/// The whole plan, operators by name in `graph`; a schedule that is a file, relative to the plan's. A stage
/// without `in_flight` gets 0: to be derived. Throws BadInput naming line and key; says nothing of validity
/// beyond that.
Plan parse_plan(const std::string& text, const std::string& file, const graph::OpGraph& graph);

}  // namespace penstock::plan
