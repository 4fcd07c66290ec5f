#pragma once
// A cluster with other numbers in its data sheet.

#include <span>

#include "penstock/cluster/cluster.hpp"
#include "penstock/cost/cost_model.hpp"
#include "penstock/experiment/what_if.hpp"

namespace penstock::experiment {

/// The cluster `ref` names, with as many devices as it says, changed by those of the changes that concern
/// hardware. A short form (8xH100x4) has as many nodes as the devices need. `costs` complete the cluster, as
/// what is changed may be theirs. Throws BadInput in words for what the cluster does not have.
cluster::Cluster changed_cluster(const plan::ClusterRef& ref, const graph::OpGraph& graph,
                                 const cost::CostModel& costs, std::span<const WhatIfChange> changes);

}  // namespace penstock::experiment
