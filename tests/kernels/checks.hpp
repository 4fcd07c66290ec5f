#pragma once
// Promises of every backend, checked inside a doctest case.

#include "kernels/trial.hpp"

namespace penstock::test {

using graph::Operator;
using kernels::Backend;
using kernels::Precision;

/// By how much a result may be off, relative to its norm: a few roundings.
double tolerance(Precision precision);

/// Every pass against float64, over poisoned results; `most` is the tolerance.
void check_kernel(Backend& backend, const Operator& op, std::int64_t samples, Precision precision,
                  double most);
inline void check_kernel(Backend& backend, const Operator& op, std::int64_t samples, Precision precision) {
  check_kernel(backend, op, samples, precision, tolerance(precision));
}
/// Output and gradients.
std::vector<reference::Values> results(Backend& backend, const Operator& op, Precision precision);

void check_tables_are_added_to(Backend& backend);
void check_missing_rows(Backend& backend);
void check_misfits(Backend& backend);
/// A sum may leave the gradient where it is, and take one tensor twice.
void check_shared_buffers(Backend& backend);
void check_algorithms(Backend& backend, Precision precision);
/// Sums, copies, events and bundles.
void check_stream(Backend& backend);

/// All rules in fp32, and small steps in the master copy of 16-bit parameters.
void check_updates(Backend& backend);

}  // namespace penstock::test
