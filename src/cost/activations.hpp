#pragma once
// Bytes that one device saves of an operator for the backward pass.

#include <functional>

#include "penstock/core/ids.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Bytes of a sample.
struct ActivationBytes {
  core::Bytes all;
  core::Bytes output;    ///< its output, which another operator may save in its place
  core::Bytes core;      ///< of attention's core
  core::Bytes operands;  ///< within the operator: what products of its own weights read
};
using ActivationsOf = std::function<ActivationBytes(core::OpId)>;

/// Activations::operands of a whole operator: the context that attention projects, and copied and activated
/// rows of experts.
core::Bytes operand_bytes(const graph::Operator& op, int element_bytes);

/// Activations of whole operators. The problem must outlive it.
ActivationsOf whole_activations(const Problem& problem);

}  // namespace penstock::cost
