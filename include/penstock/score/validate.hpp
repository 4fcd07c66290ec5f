#pragma once
// Validity of a plan on a cluster, in every respect. Independent of planners.

#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

/// [stage] memory by kind of the fullest device, at the stage's in-flight count.
std::vector<plan::MemoryByKind> stage_memories(const cost::Problem& problem, const plan::Plan& judged);

/// Violations of all rules except those of the task order, whose time grows with the number of passes.
std::vector<std::string> stage_violations(const cost::Problem& problem, const plan::Plan& judged);
/// The two parts of violations(): rules that do not depend on memory, and memory. memory_violations needs a
/// structurally valid plan.
std::vector<std::string> rule_violations(const cost::Problem& problem, const plan::Plan& judged);
std::vector<std::string> memory_violations(const cost::Problem& problem, const plan::Plan& judged);
/// True if memory_violations is empty, without texts for thousands of devices.
bool fits_memory(const cost::Problem& problem, const plan::Plan& judged);

/// Violations in words; empty if the plan is valid. Checks C1 to C3 and batch sizes
/// (plan::structural_violations), shards and gradients of shared parameters (layout::tie_violations), and C4
/// of its task order. Also checks device memory ("stage 2 needs 18.2 GiB on device 3, which has 16.0 GiB:
/// 2.20 GiB missing").
std::vector<std::string> violations(const cost::Problem& problem, const plan::Plan& judged);

}  // namespace penstock::score
