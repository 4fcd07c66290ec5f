#pragma once
// Every plan of a small problem, for claims about all of them.

#include <functional>

#include "penstock/cost/problem.hpp"

namespace penstock::support {

/// Every partition of the operators into stages that can be ordered, every replica count, every micro-batch
/// size that divides the mini-batch, one for all stages; scheduled by 1F1B on consecutive devices, within
/// memory. At most eight operators or so.
void for_each_plan(const cost::Problem& problem, const std::function<void(const plan::Plan&)>& visit);

}  // namespace penstock::support
