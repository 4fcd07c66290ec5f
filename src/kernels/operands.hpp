#pragma once
// Slots as every backend has them, and the check of the operands handed in.

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Inputs, parameters and output; what is saved and handed on is the backend's own. Norms hold their
/// parameters in fp32 whatever the number. Throws BadInput as make_kernel does.
Slots slots_of(const graph::Operator& op, std::int64_t samples, Precision precision);

/// Of Backend::make_attention_core.
Slots core_slots_of(const graph::Operator& op, std::int64_t samples, Precision precision);

/// Whether an operator with these slots has the pass.
bool has_pass(const Slots& slots, graph::Pass pass);

/// Throws an internal error when a buffer that `pass` needs is missing or does not fit its slot.
void check(const Slots& slots, graph::Pass pass, const Operands& operands);

}  // namespace penstock::kernels
