#pragma once
// A cluster with changed numbers in its data sheet.

#include <span>

#include "penstock/cluster/cluster.hpp"
#include "penstock/cost/cost_model.hpp"
#include "penstock/experiment/what_if.hpp"

namespace penstock::experiment {

/// Returns the cluster of `ref`, with its number of devices, after the changes that concern hardware. A short
/// form (8xH100x4) has as many nodes as the devices need. `costs` complete the cluster, because changed
/// numbers may be theirs. Throws BadInput in words for properties that the cluster does not have.
cluster::Cluster changed_cluster(const plan::ClusterRef& ref, const graph::OpGraph& graph,
                                 const cost::CostModel& costs, std::span<const WhatIfChange> changes);

/// Mean B/s that leave a device over links within nodes, or over those between nodes: what `network` and
/// `node_links` of a what-if question change.
double device_bandwidth(const plan::ClusterRef& ref, const cost::CostModel& costs, bool within);

}  // namespace penstock::experiment
