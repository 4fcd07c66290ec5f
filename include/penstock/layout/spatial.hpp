#pragma once
// Spatial parallelism: every operator divided by the rows of its images.

#include <string>
#include <vector>

#include "penstock/layout/convert.hpp"

namespace penstock::layout {

/// The model as one spatial group computes it, operator by operator: rows, FLOPs and bytes are divided,
/// weights are not. Precondition: there is no violation.
graph::OpGraph spatial_graph(const graph::OpGraph& graph, int spatial);

/// What windows reach of their neighbours' rows: gathered before a pass, and their gradients added up behind
/// the backward pass. As if all groups sent their borders to all, which two neighbours need.
Collectives border_collectives(const graph::OpGraph& graph, core::OpId op, const plan::Stage& stage);

/// Violations in words, operator by operator: without rows that the groups of its stage divide.
std::vector<std::string> spatial_violations(const graph::OpGraph& graph, const plan::Plan& plan);

}  // namespace penstock::layout
