#include "penstock/kernels/graph_run.hpp"

#include <map>

#include "penstock/kernels/values.hpp"
#include "penstock/kernels/wiring.hpp"

namespace penstock::kernels {

using core::OpId;
using graph::Operator;
using graph::OpKind;

namespace {

/// An addition that completes a gradient.
struct GradientAddition {
  Buffer *to, *term;
};

struct OperatorNode {
  std::unique_ptr<Kernel> kernel;  ///< null: an input, or a view of a whole tensor
  /// A view of a tensor's leading part. The kernel joins it with the rest: its input gradient splits the
  /// tensor, and its forward pass pads the view's gradient with zeros.
  bool part = false;
  Operands operands;
  Operands joined;            ///< operands of that forward pass
  std::vector<OpId> sources;  ///< [input slot]
  Buffer* output = nullptr;
  Buffer* output_gradient = nullptr;
  std::vector<GradientAddition> additions;            ///< after the input gradient
  std::vector<GradientAddition> parameter_additions;  ///< after the weight gradient
  bool weighs = false;                                ///< it has parameters that train
  bool trains = false;                                ///< it weighs, or one above it
  bool passes_on = false;  ///< tensors above it train, or the weight gradient needs the results of this pass
};

}  // namespace

/// The constructor goes down the graph once, making kernels, outputs and parameters, and up once, assigning
/// gradients.
struct GraphRun::RunParts {
  RunParts(Backend& b, const graph::OpGraph& g, std::int64_t n, Precision precision_, std::uint64_t seed_)
      : backend(b),
        graph(g),
        samples(n),
        precision(precision_),
        seed(seed_),
        wires(wire(g, precision_)),
        nodes(g.size()) {
    for (std::size_t v = 0; v < g.size(); ++v) go_down(OpId(v));
    for (std::size_t v = g.size(); v-- > 0;) go_up(OpId(v));
  }

  OperatorNode& node(OpId id) { return nodes[id.index()]; }
  const OperatorWiring& wire_of(OpId id) const { return wires[id.index()]; }

  Buffer* make(Element element, std::int64_t count) {
    return buffers.emplace_back(backend.allocate(element, count)).get();
  }
  Buffer* like(const Buffer& other) { return make(other.element(), other.count()); }
  Buffer* make(const Slot& slot) { return make(slot.element, slot.count()); }
  Buffer* random(Buffer* buffer, double low, double high) {
    write_random(backend, *buffer, seed++, low, high);
    return buffer;
  }

  void go_down(OpId id);
  void add_input(OpId id);
  void add_view(OpId id);
  void add_kernel(OpId id);
  void add_parameters(OpId id);

  void go_up(OpId id);
  void share_gradient(OperatorNode& view);
  void join_gradient(OperatorNode& view);
  void gradients_of_inputs(OperatorNode& n);
  void gradients_of_parameters(OperatorNode& n);
  Buffer* place(OpId source, std::vector<GradientAddition>& additions);

  Backend& backend;
  const graph::OpGraph& graph;
  std::int64_t samples;
  Precision precision;
  std::uint64_t seed;
  std::vector<OperatorWiring> wires;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<OperatorNode> nodes;
  std::map<const Buffer*, Buffer*> gradient_of;  ///< [parameter]
  std::vector<Buffer*> tables;                   ///< gradients that are added to
};

void GraphRun::RunParts::go_down(OpId id) {
  const Operator& op = graph.op(id);
  node(id).sources = wire_of(id).sources;
  node(id).passes_on = wire_of(id).trains_above;
  node(id).weighs = wire_of(id).weighs;
  node(id).trains = wire_of(id).trains;
  if (op.kind == OpKind::input)
    add_input(id);
  else if (is_view(op))
    add_view(id);
  else
    add_kernel(id);
}

void GraphRun::RunParts::add_input(OpId id) {
  const auto rows = static_cast<double>(wire_of(id).rows);
  const bool pointer = rows > 0;
  Buffer* buffer = make(wire_of(id).made.element, samples * wire_of(id).made.count);
  node(id).output = random(buffer, pointer ? 0 : -1, pointer ? rows : 1);
}

void GraphRun::RunParts::add_view(OpId id) {
  OperatorNode& view = node(id);
  Buffer* whole = node(view.sources[0]).output;
  const std::int64_t leading = wire_of(id).made.count, all = whole->count() / samples;
  if (leading == all) {
    view.output = whole;
    return;
  }
  view.part = true;
  view.kernel = backend.make_kernel(joining(graph.op(id), leading, all), samples, precision);
  view.output = make(view.kernel->slots().inputs[0]);
  view.operands.inputs = {view.output, make(view.kernel->slots().inputs[1])};
  view.operands.output = view.operands.output_gradient = whole;
  view.operands.input_gradients = view.operands.inputs;
}

void GraphRun::RunParts::add_kernel(OpId id) {
  OperatorNode& n = node(id);
  n.kernel = backend.make_kernel(graph.op(id), samples, precision);
  const KernelSlots& slots = n.kernel->slots();
  for (const OpId source : n.sources) n.operands.inputs.push_back(node(source).output);
  for (const Slot& slot : slots.saved) n.operands.saved.push_back(make(slot));
  for (const Slot& slot : slots.handed) n.operands.handed.push_back(make(slot));
  n.passes_on |= n.weighs && !slots.handed.empty();
  n.output = n.operands.output = make(slots.output);
  add_parameters(id);
}

void GraphRun::RunParts::add_parameters(OpId id) {
  OperatorNode& n = node(id);
  const auto& slots = n.kernel->slots().parameters;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ParameterRef owner = wire_of(id).parameters[i].owner;
    n.operands.parameters.push_back(owner.op == id ? random(make(slots[i]), -reach(slots[i]), reach(slots[i]))
                                                   : node(owner.op).operands.parameters[owner.slot]);
  }
}

/// Target for the gradient of a tensor: the first pass writes the gradient itself.
Buffer* GraphRun::RunParts::place(OpId source, std::vector<GradientAddition>& additions) {
  OperatorNode& n = node(source);
  if (!n.trains) return like(*n.output);
  if (n.output_gradient == nullptr) return n.output_gradient = like(*n.output);
  return additions.emplace_back(GradientAddition{n.output_gradient, like(*n.output)}).term;
}

/// Goes up one operator. Unread outputs get a random gradient.
void GraphRun::RunParts::go_up(OpId id) {
  OperatorNode& n = node(id);
  if (!n.trains) return;
  if (n.output_gradient == nullptr) n.output_gradient = random(like(*n.output), -1, 1);
  if (is_view(graph.op(id))) return n.part ? join_gradient(n) : share_gradient(n);
  n.operands.output_gradient = n.output_gradient;
  gradients_of_inputs(n);
  if (n.weighs) gradients_of_parameters(n);
}

void GraphRun::RunParts::share_gradient(OperatorNode& view) {
  OperatorNode& shown = node(view.sources[0]);
  if (shown.output_gradient == nullptr)
    shown.output_gradient = view.output_gradient;
  else
    view.additions.push_back({shown.output_gradient, view.output_gradient});
}

void GraphRun::RunParts::join_gradient(OperatorNode& view) {
  Buffer* zeros = make(view.kernel->slots().inputs[1]);
  write_random(backend, *zeros, 0, 0, 0);
  view.joined.inputs = {view.output_gradient, zeros};
  view.joined.output = place(view.sources[0], view.additions);
}

void GraphRun::RunParts::gradients_of_inputs(OperatorNode& n) {
  for (std::size_t i = 0; i < n.sources.size(); ++i) {
    const bool pointer = n.kernel->slots().inputs[i].element == Element::int64;
    const bool wanted = n.passes_on && !pointer;
    n.operands.input_gradients.push_back(wanted ? place(n.sources[i], n.additions) : nullptr);
  }
}

/// Shared parameters have one gradient: the first pass writes it, others add to it.
void GraphRun::RunParts::gradients_of_parameters(OperatorNode& n) {
  const auto& slots = n.kernel->slots().parameters;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Buffer*& gradient = gradient_of[n.operands.parameters[i]];
    const bool first = gradient == nullptr;
    if (first) gradient = make(slots[i]);
    if (slots[i].added) tables.push_back(gradient);
    const bool direct = first || slots[i].added;
    n.operands.parameter_gradients.push_back(
        direct ? gradient
               : n.parameter_additions.emplace_back(GradientAddition{gradient, make(slots[i])}).term);
  }
}

GraphRun::GraphRun(Backend& backend, const graph::OpGraph& graph, std::int64_t samples, Precision precision,
                   std::uint64_t seed)
    : parts_(std::make_unique<RunParts>(backend, graph, samples, precision, seed)) {}

GraphRun::~GraphRun() = default;

bool GraphRun::runs(OpId id, graph::Pass pass) const {
  const OperatorNode& n = parts_->node(id);
  if (n.kernel == nullptr) return pass == graph::Pass::input_gradient && !n.additions.empty();
  if (n.part) return pass == graph::Pass::forward || (pass == graph::Pass::input_gradient && n.trains);
  if (!n.kernel->has(pass)) return false;
  return pass == graph::Pass::forward || (pass == graph::Pass::weight_gradient ? n.weighs : n.passes_on);
}

void GraphRun::run(OpId id, graph::Pass pass, Stream& stream) {
  OperatorNode& n = parts_->node(id);
  if (n.part)
    pass == graph::Pass::forward ? n.kernel->run(graph::Pass::input_gradient, n.operands, stream)
                                 : n.kernel->run(graph::Pass::forward, n.joined, stream);
  else if (n.kernel != nullptr)
    n.kernel->run(pass, n.operands, stream);
  if (pass == graph::Pass::forward) return;
  for (const GradientAddition& sum :
       pass == graph::Pass::input_gradient ? n.additions : n.parameter_additions)
    parts_->backend.add(*sum.to, *sum.term, stream);
}

void GraphRun::forward(Stream& stream) {
  for (std::size_t v = 0; v < parts_->nodes.size(); ++v)
    if (runs(OpId(v), graph::Pass::forward)) run(OpId(v), graph::Pass::forward, stream);
}

void GraphRun::backward(Stream& stream) {
  for (std::size_t v = parts_->nodes.size(); v-- > 0;)
    for (const graph::Pass pass : {graph::Pass::input_gradient, graph::Pass::weight_gradient})
      if (runs(OpId(v), pass)) run(OpId(v), pass, stream);
}

void GraphRun::zero_tables(Stream& stream) {
  for (Buffer* table : parts_->tables) parts_->backend.zero(*table, stream);
}

Buffer& GraphRun::output(OpId op) const {
  return *parts_->node(op).output;
}
Buffer* GraphRun::output_gradient(OpId op) const {
  return parts_->node(op).output_gradient;
}
const std::vector<Buffer*>& GraphRun::parameters(OpId op) const {
  return parts_->node(op).operands.parameters;
}

std::vector<Buffer*> GraphRun::parameter_gradients(OpId op) const {
  std::vector<Buffer*> out;
  if (!parts_->node(op).weighs) return out;
  for (const Buffer* parameter : parameters(op)) out.push_back(parts_->gradient_of.at(parameter));
  return out;
}

core::Bytes GraphRun::bytes(const graph::OpGraph& graph, std::int64_t samples) {
  core::Bytes fixed, per_sample;
  for (const Operator& op : graph.operators()) {
    fixed += core::Bytes(op.parameters * graph.element_bytes() * 2);
    per_sample += op.output_bytes * 3 + op.saved_bytes;
  }
  return fixed + per_sample * samples;
}

}  // namespace penstock::kernels
