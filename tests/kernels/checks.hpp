#pragma once
// What every backend promises, checked inside a doctest case.

#include "kernels/trial.hpp"

namespace penstock::test {

using graph::Operator;
using kernels::Backend;
using kernels::Number;

/// By how much a result may be off, relative to its norm: a few roundings.
double tolerance(Number number);

/// Every pass against float64, over poisoned results; `most` is the tolerance.
void check_kernel(Backend& backend, const Operator& op, std::int64_t samples, Number number, double most);
inline void check_kernel(Backend& backend, const Operator& op, std::int64_t samples, Number number) {
  check_kernel(backend, op, samples, number, tolerance(number));
}
/// Output and gradients.
std::vector<reference::Values> results(Backend& backend, const Operator& op, Number number);

void check_tables_are_added_to(Backend& backend);
void check_missing_rows(Backend& backend);
void check_misfits(Backend& backend);
/// A sum may leave the gradient where it is, and take one tensor twice.
void check_shared_buffers(Backend& backend);
void check_algorithms(Backend& backend, Number number);
/// Sums, copies, events and bundles.
void check_stream(Backend& backend);

/// All rules in fp32, and small steps in the master copy of 16-bit parameters.
void check_updates(Backend& backend);

}  // namespace penstock::test
