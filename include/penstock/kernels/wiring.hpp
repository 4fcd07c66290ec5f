#pragma once
// Tensors that an operator reads, and owners of its parameters, derived from a graph.

#include <optional>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// A tensor for one sample.
struct SampleTensor {
  Element element = Element::fp32;
  std::int64_t count = 0;
};

/// A parameter of an operator, by its slot.
struct ParameterRef {
  core::OpId op;
  std::size_t slot = 0;
  friend auto operator<=>(const ParameterRef&, const ParameterRef&) = default;
};

struct ParameterSlot {
  ParameterRef owner;  ///< the operator itself, or the one it is tied to
  Slot slot;
};

/// Connections of one operator. If a graph has no order of operands (OpGraph::operands_ordered), they are
/// distinguished by their size; among equal sizes the lower number comes first.
struct OperatorWiring {
  SampleTensor made;
  std::vector<core::OpId> sources;        ///< [input slot]; for a view the tensor it shows
  std::vector<ParameterSlot> parameters;  ///< in the order of the kernel's slots
  std::int64_t rows = 0;      ///< for an input that indexes a table: the table's rows; otherwise 0
  bool weighs = false;        ///< it has parameters that are not frozen
  bool trains_above = false;  ///< an operator above it weighs
  bool trains = false;        ///< it weighs, or one above it
};

/// [operator] connections. Throws BadInput naming the operator if sizes do not match, and like
/// Backend::make_kernel.
std::vector<OperatorWiring> wire(const graph::OpGraph& graph, Precision precision);

/// True for other names of a tensor or of its leading part, which compute nothing.
bool is_view(const graph::Operator& op);
/// Concat whose first part is a view of the first `leading` of `all` elements.
graph::Operator joining(const graph::Operator& view, std::int64_t leading, std::int64_t all);

/// Source that `op` may overwrite with its output. For an activation whose gradient follows from its output:
/// if the source has no other reader and its maker does not read it again. Or the source of a sum
/// (graph::lies_on).
std::optional<std::size_t> works_in_place(const graph::OpGraph& graph,
                                          const std::vector<OperatorWiring>& wires, core::OpId op);

/// Parameters drawn uniformly from [-reach, reach) are small enough for sums of products to keep their size.
double reach(const Slot& parameter);

}  // namespace penstock::kernels
