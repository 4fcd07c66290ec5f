#pragma once
// Slots common to every backend, and the check of operands.

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Slots of inputs, parameters and output; backends add saved and handed. Norms have fp32 parameters in any
/// precision. Throws BadInput like make_kernel.
KernelSlots slots_of(const graph::Operator& op, std::int64_t samples, Precision precision);

/// Slots of Backend::make_attention_core.
KernelSlots core_slots_of(const graph::Operator& op, std::int64_t samples, Precision precision);

/// True if an operator with these slots has the pass.
bool has_pass(const KernelSlots& slots, graph::Pass pass);

/// Throws an internal error if a buffer that `pass` needs is missing or does not fit its slot.
void check(const KernelSlots& slots, graph::Pass pass, const Operands& operands);

}  // namespace penstock::kernels
