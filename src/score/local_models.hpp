#pragma once
// Models that devices of a tensor-parallel plan compute, before operators are divided.

#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

/// The model with its tokens divided over `context` groups and its experts over `experts` devices; 1: not
/// divided.
struct LocalModel {
  int context = 1, experts = 1;
  graph::OpGraph graph;
};

/// Local models with at most this many context groups and expert devices, beginning with the model itself.
/// Those that divide no operator are left out. Experts are loaded as evenly as possible, which is the
/// minimum.
std::vector<LocalModel> local_models(const graph::OpGraph& graph, int most_context, int most_experts);

/// True if an operator can be divided in this way: by its tokens, and by experts only if it has any.
bool divides(const graph::OpGraph& whole, core::OpId op, const LocalModel& local);

}  // namespace penstock::score
