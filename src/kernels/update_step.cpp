#include "update_step.hpp"

#include "penstock/core/error.hpp"

namespace penstock::kernels {

std::vector<Slot> update_state(const UpdateRule& rule, std::int64_t count, Element element) {
  using Kind = UpdateRule::RuleKind;
  std::vector<Slot> state;
  if (rule.kind != Kind::sgd) state.push_back({"moment", {count}, Element::fp32});
  if (rule.kind == Kind::adam) state.push_back({"variance", {count}, Element::fp32});
  if (element != Element::fp32) state.push_back({"master", {count}, Element::fp32});
  return state;
}

UpdateArrays update_arrays(const std::vector<Slot>& slots, std::int64_t count, Element element,
                           Buffer& parameters, const Buffer& before, const Buffer& gradient,
                           std::span<Buffer* const> state, std::int64_t step) {
  core::require(step >= 1 && state.size() == slots.size(),
                "an update gets its state, and counts steps from 1");
  for (const Buffer* const buffer : {&static_cast<const Buffer&>(parameters), &before, &gradient})
    core::require(buffer->count() == count && buffer->element() == element,
                  "an update gets parameters and gradient of its size");
  UpdateArrays arrays{parameters.data(), before.data(), gradient.data(), nullptr, nullptr, nullptr};
  float** const places[] = {&arrays.moment, &arrays.variance, &arrays.master};
  constexpr std::string_view names[] = {"moment", "variance", "master"};
  for (std::size_t i = 0; i < state.size(); ++i) {
    core::require(state[i] != nullptr && state[i]->count() == count && state[i]->element() == Element::fp32,
                  "state fits the parameters");
    for (std::size_t k = 0; k < 3; ++k)
      if (slots[i].name == names[k]) *places[k] = static_cast<float*>(state[i]->data());
  }
  return arrays;
}

}  // namespace penstock::kernels
