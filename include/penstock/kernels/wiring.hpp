#pragma once
// Which tensors an operator reads, and whose parameters: what a graph leaves to its reader.

#include <optional>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// A tensor, for one sample.
struct Made {
  Element element = Element::fp32;
  std::int64_t count = 0;
};

/// A parameter of an operator, by its slot.
struct ParameterRef {
  core::OpId op;
  std::size_t slot = 0;
  friend auto operator<=>(const ParameterRef&, const ParameterRef&) = default;
};

struct Parameter {
  ParameterRef owner;  ///< the operator itself, or the one it is tied to
  Slot slot;
};

/// One operator among the others. Where a graph does not know the order of operands
/// (OpGraph::operands_ordered) they are told apart by their size, and of two alike the one of the lower
/// number comes first.
struct Wire {
  Made made;
  std::vector<core::OpId> sources;    ///< per input slot; of a view the one tensor it shows
  std::vector<Parameter> parameters;  ///< in the order of the kernel's slots
  std::int64_t rows = 0;              ///< of an input that points into a table: the table's rows; else 0
  bool weighs = false;                ///< it has parameters, and they are not frozen
  bool trains_above = false;          ///< an operator above it weighs
  bool trains = false;                ///< it does, or one above it
};

/// [operator]. Throws BadInput naming the operator where sizes do not match, and as Backend::make_kernel
/// does.
std::vector<Wire> wire(const graph::OpGraph& graph, Precision precision);

/// Other names for a tensor, or for its leading part: nothing is computed.
bool is_view(const graph::Operator& op);
/// A view of the first `leading` of `all` elements is the first part of what this concat joins.
graph::Operator joining(const graph::Operator& view, std::int64_t leading, std::int64_t all);

/// The source that `op` may write its output over: that of an activation whose gradient follows from its
/// output, where nobody else reads it and its maker does not look at it again; or a sum's (graph::lies_on).
std::optional<std::size_t> works_in_place(const graph::OpGraph& graph, const std::vector<Wire>& wires,
                                          core::OpId op);

/// Parameters drawn uniformly from [-reach, reach) are small enough that sums of products keep their size.
double reach(const Slot& parameter);

}  // namespace penstock::kernels
