#pragma once
// The only way to make an OpGraph: collect operators and edges, then check once.

#include <memory>
#include <span>
#include <string>

#include "penstock/core/ids.hpp"
#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Collects operators in any order; Boost.Graph inside.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, int element_bytes = 4);
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  /// Adds an operator that consumes the outputs of `inputs`, in the order of its arguments. The id is
  /// provisional: `build` renumbers when an edge added later leads from a younger to an older operator.
  core::OpId add(Operator op, std::span<const core::OpId> inputs = {});
  core::OpId add(Operator op, std::initializer_list<core::OpId> inputs);
  /// One more operand, behind the others.
  void add_edge(core::OpId producer, core::OpId consumer);
  void tie(core::OpId user, const std::string& owner);  ///< sets Operator::parameters_of
  void forget_operand_order();                          ///< of all (OpGraph::operands_ordered)
  const Operator& op(core::OpId id) const;
  std::size_t size() const;

  /// Throws BadInput naming the operators of a cycle, a repeated name, or a negative or non-finite size. Also
  /// throws for parameters of an operator that is not there, has none or comes after their user. Keeps the
  /// order of addition where it is topological, else takes the smallest ready operator first.
  OpGraph build() const;

 private:
  struct Draft;
  std::unique_ptr<Draft> draft_;
};

}  // namespace penstock::graph
