#pragma once
// The computation graph of a network: what is computed, by whom it is consumed, how big it is.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"
#include "penstock/graph/attributes.hpp"
#include "penstock/graph/dag.hpp"
#include "penstock/graph/frozen_format.hpp"
#include "penstock/graph/op_kind.hpp"
#include "penstock/graph/parameter.hpp"
#include "penstock/graph/product_format.hpp"
#include "penstock/graph/tensor.hpp"

namespace penstock::graph {

/// One operator. All sizes and FLOPs are per sample; a multiply-add counts as two FLOPs.
struct Operator {
  std::string name;
  OpKind kind = OpKind::input;
  Attributes attributes;  ///< of its kind; see suits()
  core::Flops forward_flops;
  core::Flops input_gradient_flops;
  core::Flops weight_gradient_flops;
  std::int64_t parameters = 0;           ///< count of trainable numbers
  std::int64_t frozen_parameters = 0;    ///< of numbers that it reads and does not train
  std::string parameters_of;             ///< operator whose parameters it uses, counted there; empty: its own
  std::int64_t gathered_parameters = 0;  ///< numbers read per sample when a pass touches only part of them
                                         ///< (embedding); 0: every pass reads all parameters once
  core::Bytes output_bytes;              ///< the one tensor it produces, shared by all its consumers
  core::Bytes saved_bytes;  ///< held from forward to backward beyond its inputs: its output and internals
  ProductFormat products = ProductFormat::stored;  ///< in which it multiplies by its weights
  /// Rank of the adapters beside its products, whose own weights are frozen (graph/adapters.hpp); 0: none. Only
  /// the adapters train, and `parameters` counts only these; FLOPs and saved bytes include them.
  std::int64_t adapter_rank = 0;
  FrozenFormat frozen_format = FrozenFormat::stored;  ///< of its frozen parameters
};

/// The operator's attributes of that kind; all unstated where it has none of them.
template <class Kind>
const Kind& as(const Operator& op) {
  static const Kind kUnsaid;
  const Kind* said = std::get_if<Kind>(&op.attributes);
  return said != nullptr ? *said : kUnsaid;
}

/// True if it has a weight gradient: tied operators have the work only.
bool weighs(const Operator& op);

/// True if every token needs those before it, so that tokens cannot be divided among devices: scans and short
/// convolutions.
inline bool passes_tokens_on(const Operator& op) {
  return op.kind == OpKind::scan || op.kind == OpKind::short_convolution;
}

/// True for the softmax of a cross entropy, where the backward pass begins.
inline bool is_loss(const Operator& op) {
  return as<Softmax>(op).loss != LossKernel::none;
}

/// Immutable. Operator ids are a topological order: producers come before consumers.
class OpGraph {
 public:
  const std::string& name() const { return name_; }
  int element_bytes() const { return element_bytes_; }  ///< bytes of one number (4: fp32)
  std::size_t size() const { return operators_.size(); }
  const Operator& op(core::OpId id) const { return operators_[id.index()]; }
  const std::vector<Operator>& operators() const { return operators_; }
  const Dag& dag() const { return dag_; }
  /// The operators whose outputs it reads, in the order of its arguments; one that it reads twice is there
  /// twice.
  const std::vector<core::OpId>& operands(core::OpId id) const { return operands_[id.index()]; }
  /// False of model files of version 1, which name every operand once, in any order.
  bool operands_ordered() const { return operands_ordered_; }
  /// The tensor it makes, by its attributes.
  const Tensor& output(core::OpId id) const { return outputs_[id.index()]; }
  /// The parameter that it trains; not valid if it trains none. Tied operators name one.
  ParameterId parameter(core::OpId id) const { return parameter_[id.index()]; }
  const Parameter& parameter(ParameterId id) const { return parameters_[id.index()]; }
  const std::vector<Parameter>& all_parameters() const { return parameters_; }
  /// Operator whose parameters it uses: itself, or the one it is tied to.
  core::OpId owner(core::OpId id) const {
    const ParameterId used = parameter(id);
    return used.valid() ? parameter(used).owner() : id;
  }
  core::Bytes parameter_bytes(core::OpId id) const { return core::Bytes(op(id).parameters * element_bytes_); }
  /// Bytes of weights that do not train: frozen ones, and copies in the format of its products of all but
  /// adapters. Frozen weights in 8 bits have no other copy than those.
  core::Bytes frozen_bytes(core::OpId id) const;
  /// Format in which its layers multiply, where this is not the stored one for all.
  ProductFormat products() const { return products_; }
  /// Largest rank of adapters; 0: no operator has any.
  std::int64_t adapter_rank() const { return adapter_rank_; }
  /// Format of frozen weights, where this is not the stored one for all.
  FrozenFormat frozen_format() const { return frozen_format_; }

  /// True if an operator above it weighs, so that training needs the gradients of its inputs.
  bool trains_above(core::OpId id) const { return trains_above_[id.index()]; }
  /// True if it weighs, or one above it does, so that training needs the gradient of its output.
  bool trains(core::OpId id) const { return trains_above(id) || weighs(op(id)); }

  std::int64_t parameters() const;                                       ///< that train: sum over operators
  std::int64_t frozen_parameters() const { return frozen_parameters_; }  ///< the same of those that do not
  core::Flops forward_flops() const;                                     ///< per sample, sum over operators

 private:
  friend class GraphBuilder;
  std::string name_;
  int element_bytes_ = 4;
  std::vector<Operator> operators_;
  Dag dag_;
  std::vector<std::vector<core::OpId>> operands_;
  bool operands_ordered_ = true;
  std::vector<Tensor> outputs_;         ///< [operator]
  std::vector<ParameterId> parameter_;  ///< [operator]
  std::vector<Parameter> parameters_;
  std::vector<bool> trains_above_;
  std::int64_t frozen_parameters_ = 0;
  ProductFormat products_ = ProductFormat::stored;
  std::int64_t adapter_rank_ = 0;
  FrozenFormat frozen_format_ = FrozenFormat::stored;
};

}  // namespace penstock::graph
