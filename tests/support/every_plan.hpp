#pragma once
// Every plan of a small problem, for claims about all of them.

#include <functional>
#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::support {

/// Division of a stage beside samples, and recomputation.
struct StageDivision {
  int tensor_parallel = 1;
  int zero = 0;
  plan::Recomputation recompute{};
};

/// Every partition of the operators into stages that can be ordered, every replica count, every micro-batch
/// size that divides the mini-batch, one for all stages. Scheduled by 1F1B on consecutive devices, within
/// memory. At most eight operators or so. Every stage has each of the divisions in turn.
void for_each_plan(const cost::Problem& problem, const std::function<void(const plan::Plan&)>& visit,
                   const std::vector<StageDivision>& divisions = {{}});

}  // namespace penstock::support
