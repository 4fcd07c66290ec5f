#include "penstock/calibrate/operand_set.hpp"

#include <algorithm>

#include "penstock/kernels/values.hpp"

namespace penstock::calibrate {

using kernels::Buffer;
using kernels::Element;
using kernels::Slot;

Buffer* OperandSet::empty(const Slot& slot) {
  return buffers_.emplace_back(kernels::allocate(backend_, slot)).get();
}

Buffer* OperandSet::random(const Slot& slot) {
  Buffer* buffer = empty(slot);
  const bool pointer = slot.element == Element::int64;
  kernels::write_random(backend_, *buffer, seed_++, pointer ? 0 : -1, pointer ? rows_ : 1);
  return buffer;
}

OperandSet::OperandSet(kernels::Backend& backend, const graph::Operator& op,
                       const kernels::KernelSlots& slots, std::uint64_t seed)
    : backend_(backend),
      rows_(static_cast<double>(std::max<std::int64_t>(1, as<graph::Embedding>(op).rows))),
      seed_(seed) {
  for (const Slot& slot : slots.inputs) {
    operands_.inputs.push_back(random(slot));
    operands_.input_gradients.push_back(slot.element == Element::int64 ? nullptr : empty(slot));
  }
  for (const Slot& slot : slots.parameters) {
    operands_.parameters.push_back(random(slot));
    operands_.parameter_gradients.push_back(random(slot));
  }
  for (const Slot& slot : slots.saved) operands_.saved.push_back(empty(slot));
  for (const Slot& slot : slots.handed) operands_.handed.push_back(empty(slot));
  operands_.output = empty(slots.output);
  operands_.output_gradient = random(slots.output);
}

}  // namespace penstock::calibrate
