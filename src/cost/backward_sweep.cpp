#include "penstock/cost/backward_sweep.hpp"

#include <algorithm>

#include "penstock/cost/calibration.hpp"
#include "penstock/graph/ties.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;
using graph::Operator;
using graph::OpKind;
using graph::Vertex;

OpId op_id(Vertex v) {
  return OpId(static_cast<std::size_t>(v));
}

Vertex vertex(OpId op) {
  return static_cast<Vertex>(op.index());
}

Bytes distinct_inputs(const graph::OpGraph& graph, OpId id) {
  Bytes sum;
  for (const Vertex v : graph.dag().predecessors(vertex(id))) sum += graph.op(op_id(v)).output_bytes;
  return sum;
}

/// A tensor may be read more than once: by self-attention, or squared.
Bytes inputs(const graph::OpGraph& graph, OpId id) {
  const Operator& op = graph.op(id);
  std::int64_t elements = 0;
  if (const auto* a = std::get_if<graph::Attention>(&op.attributes))
    elements = a->queries * a->hidden + a->projected_keys() * (a->key_width + a->value_width);
  else if (const auto* sum = std::get_if<graph::Elementwise>(&op.attributes))
    elements = sum->elements * sum->terms;
  else if (const auto* p = std::get_if<graph::Matmul>(&op.attributes))
    elements = p->batch * p->inner * (p->rows + p->columns);
  return std::max(distinct_inputs(graph, id), Bytes(elements * graph.element_bytes()));
}

/// Gradient of an operator's weights; of a tied operator those of the operator whose weights it uses.
Bytes fresh_gradient(const graph::OpGraph& graph, OpId id) {
  const Operator& op = graph.op(id);
  if (op.kind == OpKind::embedding || op.gathered_parameters > 0) return {};
  return graph.parameter_bytes(graph.owner(id));
}

constexpr std::int64_t kNone = -1, kOutside = -2;

}  // namespace

BackwardSweep::BackwardSweep(const graph::OpGraph& graph, std::span<const BackwardStep> steps)
    : graph_(graph), held_(graph.size(), kOutside), gradient_(graph.size()) {
  for (const BackwardStep& step : steps) {
    of(step.op) = kNone;
    gradient_[step.op.index()] = step.gradient;
    for (const Vertex v : graph.dag().predecessors(vertex(step.op)))
      if (of(op_id(v)) == kOutside) gradient_[op_id(v).index()] = graph.op(op_id(v)).output_bytes;
  }
  for (const BackwardStep& step : steps)
    if (leaves(step.op)) of(step.op) = 0;  // in a buffer
}

void BackwardSweep::run(const BackwardStep& step) {
  const Operator& op = graph_.op(step.op);
  if (op.kind == OpKind::input) return;
  const bool last = graph_.trains(step.op) && graph_.dag().successors(vertex(step.op)).empty();
  if (last && !graph::is_loss(op)) need(step.op);  // from what the program does with it
  if (graph::is_loss(op))
    begin(step);
  else if (op.kind == OpKind::reshape)
    show(step);
  else
    compute(step);
  drop(step.op);
}

bool BackwardSweep::leaves(OpId op) {
  const auto readers = graph_.dag().successors(vertex(op));
  return std::any_of(readers.begin(), readers.end(), [&](Vertex v) { return of(op_id(v)) == kOutside; });
}

void BackwardSweep::need(OpId op) {
  if (of(op) >= 0) return;
  of(op) = gradient_[op.index()].value();
  live_ += gradient_[op.index()];
}

void BackwardSweep::drop(OpId op) {
  live_ -= Bytes(std::max<std::int64_t>(0, of(op)));
  of(op) = kNone;
}

/// A view of all is another name for the same gradient; that of a part is joined with zeros.
void BackwardSweep::show(const BackwardStep& step) {
  if (!graph_.trains(step.op)) return;
  need(step.op);
  const OpId source = op_id(graph_.dag().predecessors(vertex(step.op))[0]);
  if (step.terms == step.gradient) {
    if (of(source) < 0) std::swap(of(step.op), of(source));
    return;
  }
  most_.raise({{}, live_ + step.terms + (step.terms - step.gradient)});
  need(source);
}

/// A loss writes the gradient of the logits over its own, and Transformer Engine's over the logits
/// (transformer_engine/pytorch/triton/cross_entropy.py).
void BackwardSweep::begin(const BackwardStep& step) {
  if (!runs_input_gradient(step)) return;
  if (as<graph::Softmax>(graph_.op(step.op)).loss == graph::LossKernel::te)
    of(step.op) = 0;
  else
    need(step.op);
  most_.raise(Line{{}, live_} + step.scratch.input_gradient);
  const OpId source = op_id(graph_.dag().predecessors(vertex(step.op))[0]);
  if (gradient_[source.index()] == step.gradient && of(source) < 0) return std::swap(of(step.op), of(source));
  need(source);
  most_.raise({{}, live_});
}

void BackwardSweep::compute(const BackwardStep& step) {
  const bool above = runs_input_gradient(step), weighs = graph::weighs(graph_.op(step.op));
  if (!above && !weighs) return;
  need(step.op);
  if (above) {
    most_.raise(Line{{}, live_ + step.terms} + step.scratch.handed + step.scratch.input_gradient);
    for (const Vertex v : graph_.dag().predecessors(vertex(step.op)))
      if (graph_.trains(op_id(v))) need(op_id(v));
  }
  if (weighs) most_.raise(Line{step.fresh, live_} + step.scratch.handed + step.scratch.weight_gradient);
}

bool BackwardSweep::runs_input_gradient(const BackwardStep& step) const {
  const Operator& op = graph_.op(step.op);
  if (op.kind == OpKind::embedding || step.terms == Bytes(0)) return false;
  return graph_.trains_above(step.op) || step.scratch.handed != Line{} ||
         has_pass(op, graph::Pass::input_gradient);
}

BackwardStep backward_step(const graph::OpGraph& graph, const CostModel& costs, OpId op) {
  return {op, graph.op(op).output_bytes, inputs(graph, op), fresh_gradient(graph, op),
          costs.scratch(graph, op)};
}

Line most_around(const BackwardStep& step) {
  const Scratch& s = step.scratch;
  return Line{step.fresh, step.terms * 2} + s.handed + s.input_gradient + s.weight_gradient;
}

Envelope backward_workspace(const graph::OpGraph& graph, std::span<const BackwardStep> steps) {
  BackwardSweep sweep(graph, steps);
  for (std::size_t i = steps.size(); i-- > 0;) sweep.run(steps[i]);
  return sweep.most();
}

bool waits_for_weights(const Operator& op, cluster::SplitBackward split) {
  const bool product =
      op.kind != OpKind::norm && op.kind != OpKind::embedding && !graph::passes_tokens_on(op);
  return graph::weighs(op) && (product || split == cluster::SplitBackward::all_saved);
}

Line deferred_gradients(const graph::OpGraph& graph, std::span<const BackwardStep> steps,
                        cluster::SplitBackward split) {
  Line sum;
  for (const BackwardStep& step : steps)
    if (waits_for_weights(graph.op(step.op), split)) sum += Line{{}, step.gradient} + step.scratch.handed;
  return sum;
}

Envelope least_workspace(const graph::OpGraph& graph, const CostModel& costs, OpId op) {
  const BackwardStep step = backward_step(graph, costs, op);
  const Envelope alone = backward_workspace(graph, {&step, 1});
  const bool read = !graph.dag().successors(vertex(op)).empty();
  Envelope out;
  for (const Line& line : alone.lines()) out.raise(line + Line{{}, read ? step.gradient : Bytes(0)});
  return out;
}

}  // namespace penstock::cost
