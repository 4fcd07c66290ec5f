#pragma once
// What one device's shard of a mixture of experts runs: two products for every expert, and what moves rows.

#include <array>

#include "penstock/cost/cost_model.hpp"
#include "penstock/graph/pass.hpp"

namespace penstock::cost {

/// Rows are spread evenly. The gated form's two first matrices are one product, twice as wide.
struct ExpertWork {
  double experts = 0;  ///< that get a row: each runs every product
  double rows = 0;     ///< of one expert
  struct Layer {
    double in, out;
  };
  std::array<Layer, 2> layers{};               ///< first and last
  std::array<double, graph::kPasses> moved{};  ///< numbers that kernels beside the products read and write
};

/// `samples` are those of the whole tensor-parallel group. Beside the products, forward: dispatch copies each
/// row to the experts that it takes, the activation reads what the first products made and writes what the
/// last ones read, combine adds up each row's results. Backward: gradients go the same way, and the
/// activation reads once more what it read and wrote.
ExpertWork expert_work(const graph::Experts& experts, double samples, const OpShard& part);

/// Kernels beside the products. Forward: choice, dispatch, activation, combine; backward, to inputs: the
/// same, the router's gradient for the choice.
inline constexpr int kExpertKernels = 4;
/// Products of an expert in a pass, each a kernel, as Transformer Engine's GroupedLinear launches them.
inline constexpr int kExpertProducts = 2;

}  // namespace penstock::cost
