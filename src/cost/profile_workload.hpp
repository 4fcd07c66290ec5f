#pragma once
// The part of a profile's file form that holds a workload of Piper's.

#include "penstock/core/yaml.hpp"
#include "penstock/graph/piper_graph.hpp"

namespace penstock::cost {

/// Layers in topological order, each degree with one or two ways to run; messages name the layers they join
/// and lead from an earlier to a later one. Throws BadInput with the place of any fault.
graph::PiperWorkload read_workload(const core::Yaml& node);
/// Lines under `workload:`, which read back to the bit.
std::string workload_yaml(const graph::PiperWorkload& workload);

}  // namespace penstock::cost
