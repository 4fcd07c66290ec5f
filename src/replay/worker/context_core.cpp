#include "worker/context_core.hpp"

#include "penstock/plan/mesh.hpp"

namespace penstock::replay {
namespace {

using core::Seconds;
using graph::Attention;
using graph::Pass;
using kernels::Slot;
using plan::MemoryKind;

/// Common part of both kinds: a kernel that attends to all keys, or has all tokens, at once.
class WholeCore : public ContextCore {
 public:
  WholeCore(DeviceContext& device, const ContextGroup& group, core::OpId id, std::int64_t samples,
            const Attention& met)
      : device_(device),
        name_(device.name(id)),
        samples_(samples),
        whole_(as<Attention>(device.graph.op(id))) {
    graph::Operator op = device.graph.op(id);
    op.attributes = met;
    kernel_ = &device.kernels.core_of(op, samples);
    const layout::ContextTensors sent =
        layout::context_tensors(device.graph.op(id), device.graph.element_bytes());
    const layout::GroupCollectives all = layout::context_collectives(id, sent, group.exchange);
    for (const auto& each : all.forward) time_.forward += group.times.time(each, samples);
    for (const auto& each : all.backward) time_.input_gradient += group.times.time(each, samples);
  }
  core::Bytes workspace(Pass pass) const override { return kernel_->workspace(pass); }

 protected:
  /// A tensor of the whole attention, and its division by tokens and by heads.
  struct DividedTensor {
    std::int64_t count;  ///< per sample
    TensorSharding tokens, heads;
  };
  DividedTensor divided(std::int64_t tokens) const {
    const std::int64_t inner = whole_.inner_width();
    const std::size_t members = device_.division.members();
    return {tokens * inner, sharded_by_tokens(tokens * inner, members),
            sharded_by_columns(tokens * inner, inner, members)};
  }
  DividedTensor queries() const { return divided(whole_.queries); }
  DividedTensor keys() const { return divided(whole_.keys); }

  Lease room(std::int64_t count) const {
    return device_.pool->acquire(kernel_->slots().output.element, count, MemoryKind::workspace, name_);
  }
  Lease like(const Slot& slot) const { return room(slot.count()); }
  /// The kernel's forward pass; it stores its saved tensors from the `place`-th on.
  void attend(const Triple& met, const Lease& result, const Saved& saved, std::size_t place) const {
    kernel_->run(Pass::forward, operands(met, result, saved, place), *device_.stream);
  }
  void attend_backward(const Triple& met, const Lease& result, const Lease& gradient, const Saved& saved,
                       std::size_t place, const Triple& gradients) const {
    kernels::Operands all = operands(met, result, saved, place);
    all.output_gradient = gradient.get();
    for (const Lease& each : gradients) all.input_gradients.push_back(each.get());
    kernel_->run(Pass::input_gradient, all, *device_.stream);
  }

  DeviceContext& device_;
  const std::string name_;
  const std::int64_t samples_;
  const Attention whole_;
  kernels::Kernel* kernel_;
  cost::OpTime time_;  ///< exchanges of a pass

 private:
  kernels::Operands operands(const Triple& met, const Lease& result, const Saved& saved,
                             std::size_t place) const {
    kernels::Operands out;
    for (const Lease& each : met) out.inputs.push_back(each.get());
    out.output = result.get();
    for (std::size_t i = 0; i < kernel_->slots().saved.size(); ++i) out.saved.push_back(saved[place + i]);
    return out;
  }
};

/// Own queries attend to all keys and values, which are gathered in both passes and not kept (Transformer
/// Engine); their gradients are reduce-scattered.
class GatheringCore : public WholeCore {
 public:
  GatheringCore(DeviceContext& device, const ContextGroup& group, core::OpId id, std::int64_t samples)
      : WholeCore(device, group, id, samples, met_by(device, id)) {}

  std::vector<Slot> saved() const override {
    Slot query = kernel_->slots().inputs[0], key = kernel_->slots().inputs[1];
    key.shape[1] /= static_cast<std::int64_t>(device_.division.members());
    std::vector<Slot> out = {query, key, key};
    for (const Slot& slot : kernel_->slots().saved) out.push_back(slot);
    return out;
  }
  Triple room(const Saved& saved) override { return {lent(saved[0]), lent(saved[1]), lent(saved[2])}; }

  void forward(const Triple& own, const Saved& saved, const Lease& result) override {
    attend(gathered(own, time_.forward), result, saved, 3);
  }
  void backward(const Saved& saved, const Lease& result, const Lease& result_gradient,
                const Triple& gradients) override {
    const Triple met = gathered(room(saved), time_.input_gradient / 2);
    const Triple terms = {gradients[0], like(kernel_->slots().inputs[1]), like(kernel_->slots().inputs[2])};
    attend_backward(met, result, result_gradient, saved, 3, terms);
    const TensorSharding tokens = keys().tokens;
    reduce_scatter(
        device_,
        {{terms[1], tokens, keys().count, gradients[1]}, {terms[2], tokens, keys().count, gradients[2]}},
        samples_, time_.input_gradient / 2);
  }

 private:
  static Attention met_by(const DeviceContext& device, core::OpId id) {
    Attention out = as<Attention>(device.shard(id).op);
    out.own_keys = 0;
    return out;
  }
  Triple gathered(const Triple& own, Seconds time) const {
    Triple out = {own[0], like(kernel_->slots().inputs[1]), like(kernel_->slots().inputs[2])};
    const auto [count, tokens, heads] = keys();
    reshard(device_,
            {{own[1], tokens, TensorSharding(), count, out[1]},
             {own[2], tokens, TensorSharding(), count, out[2]}},
            samples_, time);
    return out;
  }
};

/// Exchanges tokens for heads: each device gets all tokens of some heads.
class TradingCore : public WholeCore {
 public:
  TradingCore(DeviceContext& device, const ContextGroup& group, core::OpId id, std::int64_t samples)
      : WholeCore(device, group, id, samples, met_by(device, id)) {}

  /// Query, key, value and result of its heads, and the kernel's saved tensors.
  std::vector<Slot> saved() const override {
    std::vector<Slot> out = kernel_->slots().inputs;
    out.push_back(kernel_->slots().output);
    for (const Slot& slot : kernel_->slots().saved) out.push_back(slot);
    return out;
  }
  Triple room(const Saved&) override { return {of_tokens(queries()), of_tokens(keys()), of_tokens(keys())}; }

  void forward(const Triple& own, const Saved& saved, const Lease& result) override {
    const Triple met = of_heads(saved);
    reshard(device_,
            {to_heads(queries(), own[0], met[0]), to_heads(keys(), own[1], met[1]),
             to_heads(keys(), own[2], met[2])},
            samples_, time_.forward);
    attend(met, lent(saved[3]), saved, 4);
    reshard(device_, {to_tokens(queries(), lent(saved[3]), result)}, samples_, Seconds(0));
  }
  void backward(const Saved& saved, const Lease&, const Lease& result_gradient,
                const Triple& gradients) override {
    const Lease gradient = WholeCore::room(saved[3]->count());
    reshard(device_, {to_heads(queries(), result_gradient, gradient)}, samples_, time_.input_gradient);
    Triple terms;
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = like(kernel_->slots().inputs[i]);
    attend_backward(of_heads(saved), lent(saved[3]), gradient, saved, 4, terms);
    reshard(device_,
            {to_tokens(queries(), terms[0], gradients[0]), to_tokens(keys(), terms[1], gradients[1]),
             to_tokens(keys(), terms[2], gradients[2])},
            samples_, Seconds(0));
  }

 private:
  static Attention met_by(const DeviceContext& device, core::OpId id) {
    Attention out = as<Attention>(device.graph.op(id));
    const auto members = static_cast<std::int64_t>(device.division.members());
    out.inner = out.inner_width() / members;
    out.heads /= members;
    return out;
  }
  static Triple of_heads(const Saved& saved) { return {lent(saved[0]), lent(saved[1]), lent(saved[2])}; }
  Lease of_tokens(const DividedTensor& tensor) const {
    return WholeCore::room(tensor.tokens.shard(device_.division.member(), samples_, tensor.count).count());
  }
  static TensorResharding to_heads(const DividedTensor& tensor, const Lease& from, const Lease& into) {
    return {from, tensor.tokens, tensor.heads, tensor.count, into};
  }
  static TensorResharding to_tokens(const DividedTensor& tensor, const Lease& from, const Lease& into) {
    return {from, tensor.heads, tensor.tokens, tensor.count, into};
  }
};

}  // namespace

ContextGroup::ContextGroup(const cluster::Cluster& cluster, const plan::Stage& stage)
    : exchange(stage.context_exchange), times(cluster, layout::groups(stage, layout::GroupScope::context)) {
  if (exchange == plan::ContextExchange::ring)
    hop = cost::ring_hop(cluster, plan::Mesh(stage).groups(plan::MeshDim::context));
}

std::unique_ptr<ContextCore> make_context_core(DeviceContext& device, const ContextGroup& group,
                                               core::OpId id, std::int64_t samples) {
  switch (group.exchange) {
    case plan::ContextExchange::all_gather:
      return std::make_unique<GatheringCore>(device, group, id, samples);
    case plan::ContextExchange::ulysses:
      return std::make_unique<TradingCore>(device, group, id, samples);
    case plan::ContextExchange::ring:
      break;
  }
  return make_ring_core(device, group, id, samples);
}

}  // namespace penstock::replay
