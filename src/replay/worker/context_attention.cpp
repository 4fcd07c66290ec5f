#include "worker/context_attention.hpp"

#include <algorithm>

namespace penstock::replay {
namespace {

using graph::Attention;
using graph::Pass;
using kernels::Buffer;
using kernels::Operands;
using kernels::Slot;

constexpr std::size_t kResult = 3;

graph::Operator dense(const graph::Operator& op, std::size_t which) {
  const auto& a = as<Attention>(op);
  const std::int64_t inner = a.inner_width(), reads[] = {a.hidden, a.key_width, a.value_width, inner};
  const bool queries = which == 0 || which == kResult;
  graph::Operator out;
  out.name = op.name;
  out.kind = graph::OpKind::linear;
  out.attributes = graph::Linear{queries ? a.queries : a.projected_keys(), reads[which],
                                 which == kResult ? a.hidden : inner, a.bias};
  return out;
}

}  // namespace

ContextAttention::ContextAttention(DeviceContext& device, const ContextGroup& group, core::OpId id,
                                   std::int64_t samples)
    : device_(device), name_(device.name(id)), core_(make_context_core(device, group, id, samples)) {
  const OperatorShard& shard = device.shard(id);
  for (std::size_t which = 0; which < dense_.size(); ++which) {
    dense_[which] = &device.kernels.of(dense(shard.op, which), samples);
    if (which < kResult) slots_.inputs.push_back(dense_[which]->slots().inputs[0]);
    if (which < kResult) slots_.handed.push_back(dense_[which]->slots().output);
  }
  for (const kernels::ParameterSlot& parameter : shard.parameters)
    slots_.parameters.push_back(parameter.slot);
  slots_.output = dense_[kResult]->slots().output;
  slots_.saved = core_->saved();
  slots_.saved.push_back(dense_[kResult]->slots().inputs[0]);
}

void ContextAttention::run(Pass pass, const Operands& operands, kernels::Stream& stream) {
  if (pass == Pass::forward) return forward(operands, stream);
  if (pass == Pass::input_gradient) return input_gradients(operands, stream);
  weight_gradients(operands, stream);
}

/// Operands of one projection. Weights come before biases. No function is applied, so gradients do not read
/// the output.
Operands ContextAttention::projection(std::size_t which, const Operands& all) const {
  const bool bias = slots_.parameters.size() > 4;
  const auto of_parameters = [&](const std::vector<Buffer*>& buffers) {
    std::vector<Buffer*> out;
    if (!buffers.empty()) out.push_back(buffers[which]);
    if (!buffers.empty() && bias) out.push_back(buffers[4 + which]);
    return out;
  };
  Operands out;
  out.inputs = {which < kResult ? all.inputs[which] : all.saved.back()};
  out.parameters = of_parameters(all.parameters);
  out.parameter_gradients = of_parameters(all.parameter_gradients);
  out.output = which < kResult && !all.handed.empty() ? all.handed[which] : all.output;
  out.output_gradient = which < kResult && !all.handed.empty() ? all.handed[which] : all.output_gradient;
  return out;
}

void ContextAttention::forward(const Operands& all, kernels::Stream& stream) {
  const ContextCore::Triple projected = core_->room(all.saved);
  for (std::size_t which = 0; which < kResult; ++which) {
    Operands own = projection(which, all);
    own.output = projected[which].get();
    dense_[which]->run(Pass::forward, own, stream);
  }
  core_->forward(projected, all.saved, lent(all.saved.back()));
  dense_[kResult]->run(Pass::forward, projection(kResult, all), stream);
}

void ContextAttention::input_gradients(const Operands& all, kernels::Stream& stream) {
  const Lease context = lent(all.saved.back()),
              gradient = device_.like(*context, plan::MemoryKind::workspace, name_);
  Operands result = projection(kResult, all);
  result.input_gradients = {gradient.get()};
  dense_[kResult]->run(Pass::input_gradient, result, stream);
  core_->backward(all.saved, context, gradient,
                  {lent(all.handed[0]), lent(all.handed[1]), lent(all.handed[2])});
  for (std::size_t which = 0; which < kResult; ++which) {
    Operands own = projection(which, all);
    own.input_gradients = {all.input_gradients[which]};
    dense_[which]->run(Pass::input_gradient, own, stream);
  }
}

void ContextAttention::weight_gradients(const Operands& all, kernels::Stream& stream) {
  for (std::size_t which = 0; which < dense_.size(); ++which)
    dense_[which]->run(Pass::weight_gradient, projection(which, all), stream);
}

std::string ContextAttention::algorithm(Pass pass) const {
  return dense_[0]->algorithm(pass) + " over a context group";
}

core::Bytes ContextAttention::workspace(Pass pass) const {
  core::Bytes most = pass == Pass::weight_gradient ? core::Bytes(0) : core_->workspace(pass);
  for (const kernels::Kernel* kernel : dense_) most = std::max(most, kernel->workspace(pass));
  return most;
}

}  // namespace penstock::replay
