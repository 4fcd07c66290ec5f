#pragma once
// The tensors in which an operator's trained parameters are stored, as optimizers see them.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Muon updates only matrices that are neither an embedding nor an output layer (Jordan et al., Muon, 2024;
/// megatron-core, is_managed_by_layer_wise_optimizer).
enum class TensorRole : std::uint8_t {
  matrix,  ///< of a linear layer, an attention, an expert, or an adapter
  table,   ///< of an embedding
  head,    ///< linear layer that is_output_layer()
  other,   ///< vectors, kernels of convolutions, and all that the attributes do not describe
};

/// `count` equal tensors of rows x columns; a vector has one column.
struct WeightTensor {
  TensorRole role = TensorRole::other;
  std::int64_t rows = 0, columns = 1;
  std::int64_t count = 1;
  /// True: tensor parallelism divides its columns, as of the output projection of an attention; false: its rows.
  /// Of linear layers the partition decides.
  bool by_columns = false;
  bool joined = false;  ///< true: stored in one tensor with the one before (query, key and value)
  std::int64_t numbers() const { return rows * columns * count; }
  friend bool operator==(const WeightTensor&, const WeightTensor&) = default;
};

/// True if nothing reads what the operator makes, or only losses and softmaxes at the end of the model.
bool is_output_layer(const OpGraph& graph, core::OpId id);

/// Tensors of an operator's own trained parameters; their numbers add up to Operator::parameters. Differs:
/// biases and norms within an attention or a mixture count as one vector.
std::vector<WeightTensor> weight_tensors(const OpGraph& graph, core::OpId id);

}  // namespace penstock::graph
