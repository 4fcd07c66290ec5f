#pragma once
// Work of one device's shard of a mixture of experts: two products for every expert, and what moves rows.

#include <array>

#include "penstock/cost/cost_model.hpp"
#include "penstock/graph/pass.hpp"

namespace penstock::cost {

/// Rows are spread evenly. The gated form's two first matrices are one product, twice as wide.
struct ExpertWork {
  double experts = 0;  ///< that get a row: each runs every product
  double rows = 0;     ///< of one expert
  struct ExpertLayer {
    double in, out;
  };
  std::array<ExpertLayer, 2> layers{};         ///< first and last
  std::array<double, graph::kPasses> moved{};  ///< numbers that kernels beside the products read and write
};

/// `samples` are those of the whole tensor-parallel group. Beside the products, forward: dispatch copies each
/// row to the experts that it takes. The activation reads what the first products made and writes what the
/// last ones read. Combine adds up each row's results. Backward: gradients go the same way, and the
/// activation reads once more what it read and wrote. Biases and clamps run kernel by kernel, as in
/// Megatron-LM (core/transformer/moe/experts.py, core/fusions/fused_bias_geglu.py; those of the first
/// products within these). A bias, forward: a product with the shares, a sum, a concatenation of all experts'
/// rows; backward: two products and their sums over rows and columns, a concatenation. Clamps, forward: gate
/// and up one by one, and a concatenation; backward: a mask of each, and a concatenation.
ExpertWork expert_work(const graph::Experts& experts, double samples, const OpShard& part);

/// Kernels beside the products, in passes forward and to inputs. Forward: choice, dispatch, activation,
/// combine; backward: the same, the router's gradient for the choice. And those of biases, of each expert,
/// and clamps.
std::array<int, 2> expert_kernels(const graph::Experts& experts);
/// Products of an expert in a pass, each a kernel, as Transformer Engine's GroupedLinear launches them.
inline constexpr int kExpertProducts = 2;

}  // namespace penstock::cost
