#pragma once
// The models that devices of a tensor-parallel plan compute before operators are divided.

#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

/// The model with its tokens divided over `context` groups and its experts over `experts` devices (1: whole).
struct LocalModel {
  int context = 1, experts = 1;
  graph::OpGraph graph;
};

/// All with so many context groups and devices for experts at most, the model itself first. Those by which no
/// operator can be divided are left out. Experts are as evenly loaded as can be, which is the least.
std::vector<LocalModel> local_models(const graph::OpGraph& graph, int most_context, int most_experts);

/// Whether an operator can be divided so: by its tokens, and by experts only if it has any.
bool divides(const graph::OpGraph& whole, core::OpId op, const LocalModel& local);

}  // namespace penstock::score
