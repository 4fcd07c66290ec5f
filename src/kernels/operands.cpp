#include "operands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "geometry.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels {
namespace {

using graph::Operator;
using graph::OpKind;
using Extents = std::vector<std::int64_t>;

constexpr std::int64_t kMostSamples = 1 << 20, kMostElements = std::int64_t{1} << 40;

struct SlotMaker {
  std::int64_t samples;
  Element element;
  Slot of(const char* name, Extents shape) const { return {name, std::move(shape), element}; }
  Slot batch(const char* name, Extents shape) const {
    shape.insert(shape.begin(), samples);
    return of(name, std::move(shape));
  }
};

KernelSlots dense(const SlotMaker& make, const Linear& l) {
  KernelSlots s{{make.batch("x", {l.rows, l.in})},
                {make.of("weights", {l.out, l.in})},
                make.batch("y", {l.rows, l.out}),
                {},
                {}};
  if (l.bias) s.parameters.push_back(make.of("bias", {l.out}));
  return s;
}

KernelSlots product(const SlotMaker& make, const Product& p) {
  return {{make.batch("a", {p.batch, p.rows, p.inner}), make.batch("b", {p.batch, p.inner, p.columns})},
          {},
          make.batch("y", {p.batch, p.rows, p.columns}),
          {},
          {}};
}

KernelSlots slide(const SlotMaker& make, const Window& w, std::int64_t channels) {
  return {{make.batch("x", {w.image[0], w.image[1], w.channels})},
          {},
          make.batch("y", {w.output(0), w.output(1), channels}),
          {},
          {}};
}

KernelSlots convolve(const SlotMaker& make, const Convolution& c) {
  KernelSlots s = slide(make, c.window, c.out);
  s.parameters = {make.of("weights", {c.out, c.window.kernel[0], c.window.kernel[1], c.window.channels})};
  if (c.bias) s.parameters.push_back(make.of("bias", {c.out}));
  return s;
}

KernelSlots normalise(const SlotMaker& make, const NormShape& n) {
  return {{make.batch("x", {n.rows, n.channels})},
          {{"scale", {n.channels}, Element::fp32}, {"shift", {n.channels}, Element::fp32}},
          make.batch("y", {n.rows, n.channels}),
          {},
          {}};
}

KernelSlots attend(const SlotMaker& make, const AttentionShape& a) {
  KernelSlots s{
      {make.batch("query", {a.queries, a.hidden}), make.batch("key", {a.keys, a.key_width}),
       make.batch("value", {a.keys, a.value_width})},
      {make.of("query_weights", {a.inner, a.hidden}), make.of("key_weights", {a.inner, a.key_width}),
       make.of("value_weights", {a.inner, a.value_width}), make.of("output_weights", {a.hidden, a.inner})},
      make.batch("y", {a.queries, a.hidden}),
      {},
      {}};
  if (a.bias)
    for (const char* name : {"query_bias", "key_bias", "value_bias"})
      s.parameters.push_back(make.of(name, {a.inner}));
  if (a.last_bias) s.parameters.push_back(make.of("output_bias", {a.hidden}));
  return s;
}

KernelSlots look_up(const SlotMaker& make, const EmbeddingShape& e) {
  Slot rows = make.batch("rows", {e.lookups}), table = make.of("table", {e.rows, e.width});
  rows.element = Element::int64;
  table.added = true;
  return {{rows}, {table}, make.batch("y", e.sum ? Extents{e.width} : Extents{e.lookups, e.width}), {}, {}};
}

KernelSlots join(const SlotMaker& make, const Concat& c) {
  KernelSlots s;
  std::int64_t width = 0;
  for (const std::int64_t part : c.widths) {
    s.inputs.push_back(make.batch("part", {c.rows, part}));
    width += part;
  }
  s.output = make.batch("y", {c.rows, width});
  return s;
}

/// Slots of a mixture. Experts' matrices are stored one after the other, all gates first.
KernelSlots mix(const SlotMaker& make, const Experts& e) {
  KernelSlots s{{make.batch("x", {e.rows, e.hidden}), make.batch("probabilities", {e.rows, e.experts})},
                {},
                make.batch("y", {e.rows, e.hidden}),
                {},
                {}};
  if (e.gated) s.parameters.push_back(make.of("gate", {e.experts * e.inner, e.hidden}));
  s.parameters.push_back(make.of("up", {e.experts * e.inner, e.hidden}));
  s.parameters.push_back(make.of("down", {e.experts * e.hidden, e.inner}));
  return s;
}

/// `terms` tensors of one shape, and an output of that shape.
KernelSlots alike(const SlotMaker& make, const Extents& shape, std::int64_t terms = 1) {
  return {{static_cast<std::size_t>(terms), make.batch("x", shape)}, {}, make.batch("y", shape), {}, {}};
}

KernelSlots by_kind(const SlotMaker& make, const Operator& op) {
  switch (op.kind) {
    case OpKind::linear:
      return dense(make, linear(op));
    case OpKind::matmul:
      return product(make, matmul(op));
    case OpKind::convolution:
      return convolve(make, convolution(op));
    case OpKind::pool:
      return slide(make, pool(op).window, pool(op).window.channels);
    case OpKind::norm:
      return normalise(make, norm(op));
    case OpKind::softmax:
      return alike(make, {softmax(op).rows, softmax(op).width});
    case OpKind::activation:
      return alike(make, {activation(op).elements});
    case OpKind::elementwise:
      return alike(make, {elementwise(op).elements}, elementwise(op).terms);
    case OpKind::attention:
      return attend(make, attention(op));
    case OpKind::embedding:
      return look_up(make, embedding(op));
    case OpKind::concat:
      return join(make, concat(op));
    case OpKind::experts:
      return mix(make, experts(op));
    default:
      break;
  }
  throw core::BadInput(fmt::format("operator '{}': kind {} has no kernel", op.name, graph::name(op.kind)));
}

void check_size(const Operator& op, const Slot& slot) {
  double count = 1;
  for (const std::int64_t extent : slot.shape) count *= static_cast<double>(extent);
  if (count > static_cast<double>(kMostElements))
    throw core::BadInput(
        fmt::format("operator '{}': {} has {:.2g} elements, more than a kernel handles (2^40)", op.name,
                    slot.name, count));
}

bool fits(const Slot& slot, const Buffer* buffer) {
  return buffer != nullptr && buffer->element() == slot.element && buffer->count() == slot.count();
}

void check(const std::vector<Slot>& slots, const std::vector<Buffer*>& buffers) {
  core::require(slots.size() == buffers.size(), "a kernel gets a buffer per slot");
  for (std::size_t i = 0; i < slots.size(); ++i)
    core::require(fits(slots[i], buffers[i]), "a buffer fits its slot");
}

void check_gradients(const std::vector<Slot>& slots, const std::vector<Buffer*>& gradients) {
  core::require(slots.size() == gradients.size(), "a kernel gets a gradient per input");
  for (std::size_t i = 0; i < slots.size(); ++i)
    core::require(slots[i].element == Element::int64 || fits(slots[i], gradients[i]),
                  "a gradient fits its input");
}

}  // namespace

KernelSlots slots_of(const Operator& op, std::int64_t samples, Precision precision) {
  if (samples < 1 || samples > kMostSamples)
    throw core::BadInput(
        fmt::format("operator '{}': {} samples are not from 1 to {}", op.name, samples, kMostSamples));
  KernelSlots slots = by_kind({samples, storage(precision)}, op);
  for (const Slot& slot : slots.inputs) check_size(op, slot);
  for (const Slot& slot : slots.parameters) check_size(op, slot);
  check_size(op, slots.output);
  return slots;
}

KernelSlots core_slots_of(const graph::Operator& op, std::int64_t samples, Precision precision) {
  slots_of(op, samples, precision);  // throws if invalid
  const AttentionShape a = attention(op);
  const SlotMaker make{samples, storage(precision)};
  return {{make.batch("query", {a.queries, a.inner}), make.batch("key", {a.keys, a.inner}),
           make.batch("value", {a.keys, a.inner})},
          {},
          make.batch("y", {a.queries, a.inner}),
          {},
          {}};
}

bool has_pass(const KernelSlots& slots, graph::Pass pass) {
  if (pass == graph::Pass::weight_gradient) return !slots.parameters.empty();
  return pass == graph::Pass::forward ||
         std::ranges::any_of(slots.inputs, [](const Slot& slot) { return slot.element != Element::int64; });
}

void check(const KernelSlots& slots, graph::Pass pass, const Operands& operands) {
  core::require(has_pass(slots, pass), "a kernel has the pass it is asked to run");
  check(slots.inputs, operands.inputs);
  core::require(fits(slots.output, operands.output), "a buffer fits the output");
  check(slots.saved, operands.saved);
  if (pass != graph::Pass::weight_gradient) check(slots.parameters, operands.parameters);
  if (pass == graph::Pass::forward) return;
  core::require(fits(slots.output, operands.output_gradient), "a buffer fits the output gradient");
  check(slots.handed, operands.handed);
  if (pass == graph::Pass::weight_gradient)
    check(slots.parameters, operands.parameter_gradients);
  else
    check_gradients(slots.inputs, operands.input_gradients);
}

}  // namespace penstock::kernels
