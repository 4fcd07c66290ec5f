#include "penstock/kernels/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "geometry.hpp"
#include "operands.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/in_place.hpp"

namespace penstock::kernels {

using core::OpId;
using graph::Operator;
using graph::OpKind;
using graph::Vertex;

namespace {

/// Tensor of an input or a view.
SampleTensor made_by(const graph::OpGraph& graph, OpId id, Precision precision) {
  const graph::Tensor& made = graph.output(id);
  if (made.dtype == graph::DType::byte)
    throw core::BadInput(fmt::format("operator '{}': shape: elements is missing", graph.op(id).name));
  return {made.dtype == graph::DType::index ? Element::int64 : storage(precision), made.count()};
}

class WiringBuilder {
 public:
  WiringBuilder(const graph::OpGraph& graph, Precision precision)
      : graph_(graph), precision_(precision), wires_(graph.size()) {}

  std::vector<OperatorWiring> build() {
    for (std::size_t v = 0; v < graph_.size(); ++v) add(OpId(v));
    return std::move(wires_);
  }

 private:
  OperatorWiring& wire(OpId id) { return wires_[id.index()]; }
  std::vector<OpId> predecessors(OpId id) const {
    std::vector<OpId> out;
    for (const Vertex u : graph_.dag().predecessors(static_cast<Vertex>(id.index())))
      out.emplace_back(static_cast<std::size_t>(u));
    return out;
  }

  void add(OpId id) {
    const Operator& op = graph_.op(id);
    for (const OpId source : predecessors(id)) wire(id).trains_above |= wire(source).trains;
    if (op.kind == OpKind::input)
      add_input(id);
    else if (is_view(op))
      add_view(id);
    else
      add_kernel(id);
    wire(id).weighs = !wire(id).parameters.empty() && op.frozen_parameters == 0;
    wire(id).trains = wire(id).trains_above || wire(id).weighs;
  }

  void add_input(OpId id) {
    wire(id).rows = rows_pointed_at(id);
    wire(id).made = made_by(graph_, id, precision_);
  }
  /// Rows of the table that an input indexes, also through views.
  std::int64_t rows_pointed_at(OpId id) const {
    std::int64_t rows = 0;
    for (const Vertex v : graph_.dag().successors(static_cast<Vertex>(id.index()))) {
      const OpId reader(static_cast<std::size_t>(v));
      const Operator& op = graph_.op(reader);
      if (op.kind == OpKind::embedding) rows = embedding(op).rows;
      if (is_view(op)) rows = std::max(rows, rows_pointed_at(reader));
    }
    return rows;
  }

  void add_view(OpId id) {
    const Operator& op = graph_.op(id);
    wire(id).sources = predecessors(id);
    core::require(wire(id).sources.size() == 1, "a view shows one tensor");
    const SampleTensor& whole = wire(wire(id).sources[0]).made;
    wire(id).made = {whole.element, made_by(graph_, id, precision_).count};
    if (wire(id).made.count > whole.count)
      throw core::BadInput(fmt::format("reshape '{}' has more elements than its input", op.name));
  }

  void add_kernel(OpId id) {
    const KernelSlots slots = slots_of(graph_.op(id), 1, precision_);
    wire(id).sources = graph_.operands_ordered() ? in_order(id, slots.inputs) : match(id, slots.inputs);
    wire(id).made = {slots.output.element, slots.output.count()};
    for (std::size_t i = 0; i < slots.parameters.size(); ++i) add_parameter(id, i, slots.parameters[i]);
  }

  bool fits(OpId source, const Slot& slot) {
    return wire(source).made.count == slot.count() && wire(source).made.element == slot.element;
  }

  std::vector<OpId> in_order(OpId id, const std::vector<Slot>& slots) {
    const std::vector<OpId>& operands = graph_.operands(id);
    if (operands.size() != slots.size())
      throw core::BadInput(fmt::format("operator '{}' reads {} tensors, its kind {}", graph_.op(id).name,
                                       operands.size(), slots.size()));
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (!fits(operands[i], slots[i]))
        throw core::BadInput(fmt::format("operator '{}': the output of '{}' has not the {} elements of {}",
                                         graph_.op(id).name, graph_.op(operands[i]).name, slots[i].count(),
                                         slots[i].name));
    return operands;
  }

  /// [slot] first operand of its size without a slot; if there is none, the first of its size.
  std::vector<OpId> match(OpId id, const std::vector<Slot>& slots) {
    std::vector<OpId> free = predecessors(id), sources;
    const std::vector<OpId> all = free;
    for (const Slot& slot : slots) {
      const auto suits = [&](OpId source) { return fits(source, slot); };
      const auto fresh = std::find_if(free.begin(), free.end(), suits);
      const auto any = std::find_if(all.begin(), all.end(), suits);
      if (any == all.end())
        throw core::BadInput(fmt::format("operator '{}': no input has the {} elements of {}",
                                         graph_.op(id).name, slot.count(), slot.name));
      sources.push_back(fresh != free.end() ? *fresh : *any);
      if (fresh != free.end()) free.erase(fresh);
    }
    if (!free.empty())
      throw core::BadInput(fmt::format("operator '{}': it has no place for the output of '{}'",
                                       graph_.op(id).name, graph_.op(free[0]).name));
    return sources;
  }

  void add_parameter(OpId id, std::size_t place, const Slot& slot) {
    ParameterRef owner{id, place};
    const OpId tied_to = graph_.owner(id);
    const auto& others = wire(tied_to).parameters;
    if (const auto found = std::ranges::find_if(others, [&](const auto& p) { return alike(p.slot, slot); });
        tied_to != id && found != others.end())
      owner = found->owner;
    wire(id).parameters.push_back({owner, slot});
  }
  static bool alike(const Slot& a, const Slot& b) { return a.count() == b.count() && a.element == b.element; }

  const graph::OpGraph& graph_;
  Precision precision_;
  std::vector<OperatorWiring> wires_;
};

}  // namespace

std::vector<OperatorWiring> wire(const graph::OpGraph& graph, Precision precision) {
  return WiringBuilder(graph, precision).build();
}

bool is_view(const Operator& op) {
  return op.kind == OpKind::reshape;
}

Operator joining(const Operator& view, std::int64_t leading, std::int64_t all) {
  Operator op;
  op.name = view.name;
  op.kind = OpKind::concat;
  op.attributes = graph::Concat{all, 1, {leading, all - leading}};
  return op;
}

std::optional<std::size_t> works_in_place(const graph::OpGraph& graph,
                                          const std::vector<OperatorWiring>& wires, OpId id) {
  const auto& sources = wires[id.index()].sources;
  if (graph.op(id).kind == OpKind::elementwise && !elementwise(graph.op(id)).product) {
    const auto under = graph::lies_on(graph, id);
    if (!under || std::ranges::count(sources, *under) != 1) return {};
    return static_cast<std::size_t>(std::ranges::find(sources, *under) - sources.begin());
  }
  if (graph::is_loss(graph.op(id)) && graph.op(id).saved_bytes.value() == 0) return 0;
  if (graph.op(id).kind != OpKind::activation) return {};
  const Function function = activation(graph.op(id)).function;
  const OpId source = sources[0];
  const OpKind maker = graph.op(source).kind;
  const bool over = graph::follows_from_output(function) &&
                    graph.dag().successors(static_cast<Vertex>(source.index())).size() == 1 &&
                    (maker == OpKind::convolution || maker == OpKind::norm || maker == OpKind::elementwise);
  return over ? std::optional<std::size_t>(0) : std::nullopt;
}

double reach(const Slot& parameter) {
  return std::sqrt(3.0 * static_cast<double>(parameter.shape[0]) / static_cast<double>(parameter.count()));
}

}  // namespace penstock::kernels
