#include "kernels/trial.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "penstock/kernels/values.hpp"

namespace penstock::test {

using kernels::Buffer;
using kernels::KernelSlots;
using kernels::Slot;

namespace {

/// Many factors near one have a product that every number format holds.
std::array<double, 2> range(const graph::Operator& op) {
  const auto* e = std::get_if<graph::Elementwise>(&op.attributes);
  return e != nullptr && e->product ? std::array{0.5, 1.5} : std::array{-1.0, 1.0};
}

}  // namespace

KernelTrial::KernelTrial(kernels::Backend& backend, const graph::Operator& op, std::int64_t samples,
                         kernels::Precision precision, std::uint64_t seed)
    : precision_(precision),
      backend_(backend),
      stream_(backend.make_stream()),
      kernel_(backend.make_kernel(op, samples, precision)) {
  const KernelSlots& slots = kernel_->slots();
  buffers_.inputs = add(slots.inputs);
  buffers_.parameters = add(slots.parameters);
  buffers_.saved = add(slots.saved);
  buffers_.handed = add(slots.handed);
  buffers_.output = add(slots.output);
  buffers_.output_gradient = add(slots.output);
  add_gradients();
  const auto [low, high] = range(op);
  for (Buffer* buffer : buffers_.inputs)
    if (buffer->element() != kernels::Element::int64)
      draw(*buffer, ++seed, low, high);
    else
      kernels::write_random(backend, *buffer, ++seed, 0, static_cast<double>(slots.parameters[0].shape[0]));
  if (op.kind == graph::OpKind::experts)  // a router's probabilities are above zero
    draw(*buffers_.inputs[1], ++seed, 0.1, 1);
  for (Buffer* buffer : buffers_.parameters) draw(*buffer, ++seed);
  draw(*buffers_.output_gradient, ++seed);
}

/// In tf32 multiples of 2^-10, which its 11 bits hold: a ReLU then opens for the kernel where it does in
/// float64.
void KernelTrial::draw(Buffer& buffer, std::uint64_t seed, double low, double high) {
  kernels::write_random(backend_, buffer, seed, low, high);
  if (precision_ != kernels::Precision::tf32) return;
  std::vector<double> values = kernels::read_values(backend_, buffer);
  for (double& value : values) value = std::nearbyint(value * 1024) / 1024;
  kernels::write_values(backend_, buffer, values);
}

Buffer* KernelTrial::add(const Slot& slot) {
  owned_.push_back(kernels::allocate(backend_, slot));
  kernels::poison(backend_, *owned_.back());
  return owned_.back().get();
}

KernelTrial::Buffers KernelTrial::add(const std::vector<Slot>& slots) {
  Buffers buffers;
  for (const Slot& slot : slots) buffers.push_back(add(slot));
  return buffers;
}

void KernelTrial::add_gradients() {
  for (const Slot& slot : kernel_->slots().inputs)
    buffers_.input_gradients.push_back(slot.element == kernels::Element::int64 ? nullptr : add(slot));
  for (const Slot& slot : kernel_->slots().parameters) {
    buffers_.parameter_gradients.push_back(add(slot));
    if (slot.added) backend_.zero(*buffers_.parameter_gradients.back(), *stream_);
  }
}

void KernelTrial::run(graph::Pass pass) {
  kernel_->run(pass, buffers_, *stream_);
  stream_->synchronise();
}

void KernelTrial::run_all() {
  for (const graph::Pass pass :
       {graph::Pass::forward, graph::Pass::input_gradient, graph::Pass::weight_gradient})
    if (kernel_->has(pass)) run(pass);
}

std::vector<reference::Values> KernelTrial::values(const Buffers& buffers) const {
  std::vector<reference::Values> result;
  for (const Buffer* buffer : buffers)
    result.push_back(buffer != nullptr ? kernels::read_values(backend_, *buffer) : reference::Values{});
  return result;
}

reference::Operands KernelTrial::operands() const {
  return {values(buffers_.inputs), values(buffers_.parameters)};
}

reference::Operands KernelTrial::gradients() const {
  return {values(buffers_.input_gradients), values(buffers_.parameter_gradients)};
}

reference::Values KernelTrial::output() const {
  return kernels::read_values(backend_, *buffers_.output);
}

reference::Values KernelTrial::output_gradient() const {
  return kernels::read_values(backend_, *buffers_.output_gradient);
}

double length(const reference::Values& a) {
  return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0));
}

double distance(const reference::Values& a, const reference::Values& b, double least) {
  if (a.size() != b.size()) return NAN;
  reference::Values difference = a;
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= b[i];
  const double size = std::max(length(b), least);
  return size > 0 ? length(difference) / size : length(difference);
}

}  // namespace penstock::test
