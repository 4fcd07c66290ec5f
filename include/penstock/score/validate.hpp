#pragma once
// Validity: is this plan valid on this cluster, in every respect? Knows nothing of planners.

#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

/// [stage] Memory of the fullest device of a stage by kind, at its in-flight count.
std::vector<plan::MemoryByKind> stage_memories(const cost::Problem& problem, const plan::Plan& judged);

/// The rules but for those of the task order, which take a time that grows with its passes.
std::vector<std::string> stage_violations(const cost::Problem& problem, const plan::Plan& judged);
/// The two parts of violations(): what breaks a rule whatever memory there is, and what does not fit. The
/// second needs a plan that is structurally valid.
std::vector<std::string> rule_violations(const cost::Problem& problem, const plan::Plan& judged);
std::vector<std::string> memory_violations(const cost::Problem& problem, const plan::Plan& judged);
/// Whether memory_violations has none, without words for thousands of devices.
bool fits_memory(const cost::Problem& problem, const plan::Plan& judged);

/// Violations in words, empty when the plan is valid: C1 to C3 and batch sizes (plan::structural_violations),
/// shards and gradients of shared parameters (layout::tie_violations), C4 of its task order, and device
/// memory ("stage 2 needs 18.2 GiB on device 3, which has 16.0 GiB: 2.20 GiB missing").
std::vector<std::string> violations(const cost::Problem& problem, const plan::Plan& judged);

}  // namespace penstock::score
