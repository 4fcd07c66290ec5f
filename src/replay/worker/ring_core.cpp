// Ring attention: own queries attend to one block of keys and values after the other, which devices pass on
// to the next while they compute. Until all blocks have come, shares refer to the sum of their own block's
// exponentials.
//
// Liu et al., "Ring Attention with Blockwise Transformers for Near-Infinite Context", ICLR 2024, algorithm 1.
// Differs: shares are kept for the backward pass, as in the kernels of attention on one device.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "worker/context_core.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using core::Seconds;
using graph::Attention;
using graph::Pass;
using kernels::Slot;
using plan::MemoryKind;

class RingCore : public ContextCore {
 public:
  RingCore(DeviceContext& device, const ContextGroup& group, core::OpId id, std::int64_t samples)
      : device_(device), name_(device.name(id)), samples_(samples), members_(device.division.members()) {
    graph::Operator op = device.shard(id).op;
    auto& block = std::get<Attention>(op.attributes);
    block.keys = block.projected_keys();
    block.own_keys = 0;
    heads_ = block.heads;
    queries_ = block.queries;
    kernel_ = &device.kernels.core_of(op, samples);
    const Slot& key = kernel_->slots().inputs[1];
    const auto bytes = static_cast<double>(key.count() * kernels::size(key.element));
    hop_ = Seconds(group.hop.at(core::Bytes(static_cast<std::int64_t>(2 * bytes))));
    hop_with_gradients_ = Seconds(group.hop.at(core::Bytes(static_cast<std::int64_t>(4 * bytes))));
  }

  /// The projections, and the shares of each block.
  std::vector<Slot> saved() const override {
    std::vector<Slot> out = kernel_->slots().inputs;
    out.insert(out.end(), members_, kernel_->slots().saved[0]);
    return out;
  }
  core::Bytes workspace(Pass pass) const override { return kernel_->workspace(pass); }
  Triple room(const Saved& saved) override { return {lent(saved[0]), lent(saved[1]), lent(saved[2])}; }

  void forward(const Triple& own, const Saved& saved, const Lease& result) override {
    std::vector<Lease> results, log_sums, block = {own[1], own[2]};
    for (std::size_t b = 0; b < members_; ++b) {
      results.push_back(like(kernel_->slots().output));
      log_sums.push_back(like(kernel_->slots().saved[1]));
      kernels::Operands all = operands(own[0], block, saved, b);
      all.output = results.back().get();
      all.saved.push_back(log_sums.back().get());
      const Seconds took = run(Pass::forward, all);
      if (b + 1 < members_) block = handed_on(block, hop_ - took);
    }
    merge(saved, results, log_sums, result);
  }

  /// Gradients of a block travel with it, and return at the end.
  void backward(const Saved& saved, const Lease& result, const Lease& result_gradient,
                const Triple& gradients) override {
    const Lease query = lent(saved[0]), unused = like(kernel_->slots().saved[1]);
    std::vector<Lease> block = {lent(saved[1]), lent(saved[2])};
    for (std::size_t b = 0; b < members_; ++b) {
      const Triple terms = room_for_terms();
      kernels::Operands all = operands(query, block, saved, b);
      all.saved.push_back(unused.get());
      all.output = result.get();
      all.output_gradient = result_gradient.get();
      for (const Lease& term : terms) all.input_gradients.push_back(term.get());
      const Seconds took = run(Pass::input_gradient, all);
      take_terms(terms, b, gradients[0], block);
      if (b + 1 < members_) block = handed_on(block, hop_with_gradients_ - took);
    }
    const std::vector<Lease> home = handed_on({block[2], block[3]}, hop_);
    device_.backend.copy(*gradients[1], *home[0], *device_.stream);
    device_.backend.copy(*gradients[2], *home[1], *device_.stream);
  }

 private:
  Lease like(const Slot& slot) const {
    return device_.pool->acquire(slot.element, slot.count(), MemoryKind::workspace, name_);
  }
  Triple room_for_terms() const {
    const auto& inputs = kernel_->slots().inputs;
    return {like(inputs[0]), like(inputs[1]), like(inputs[2])};
  }
  kernels::Operands operands(const Lease& query, const std::vector<Lease>& block, const Saved& saved,
                             std::size_t number) const {
    kernels::Operands out;
    out.inputs = {query.get(), block[0].get(), block[1].get()};
    out.saved = {saved[3 + number]};
    return out;
  }

  /// Runs a pass and returns its time, by which the next block's transfer is hidden.
  Seconds run(Pass pass, const kernels::Operands& operands) const {
    const auto begin = std::chrono::steady_clock::now();
    kernel_->run(pass, operands, *device_.stream);
    device_.stream->synchronise();
    return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

  /// Receives the previous device's data, and passes on this device's.
  std::vector<Lease> handed_on(const std::vector<Lease>& own, Seconds exposed) const {
    std::vector<Lease> out;
    for (const Lease& each : own) out.push_back(device_.like(*each, MemoryKind::workspace, name_));
    shift(device_, own, out, std::max(Seconds(0), exposed));
    return out;
  }

  /// Adds the terms of a block to the query's gradient and to those that travel with the block.
  void take_terms(const Triple& terms, std::size_t number, const Lease& query,
                  std::vector<Lease>& block) const {
    if (number == 0) {
      device_.backend.copy(*query, *terms[0], *device_.stream);
      block.insert(block.end(), {terms[1], terms[2]});
      return;
    }
    device_.backend.add(*query, *terms[0], *device_.stream);
    device_.backend.add(*block[2], *terms[1], *device_.stream);
    device_.backend.add(*block[3], *terms[2], *device_.stream);
  }

  FloatView floats(const Lease& lease) const { return {device_.backend, *lease}; }

  /// Merges results of blocks, each weighted by its part of the sum of all exponentials; shares likewise.
  void merge(const Saved& saved, const std::vector<Lease>& results, const std::vector<Lease>& log_sums,
             const Lease& result) const {
    const std::vector<std::vector<float>> weights = parts(log_sums);
    const FloatView sum = floats(result);
    std::ranges::fill(*sum, 0.0f);
    for (std::size_t b = 0; b < members_; ++b) {
      const FloatView shares = floats(lent(saved[3 + b]));
      scale_rows(*shares, weights[b]);
      shares.write_back();
      add_weighed(*sum, *floats(results[b]), weights[b]);
    }
    sum.write_back();
  }
  static void scale_rows(std::span<float> shares, std::span<const float> weights) {
    const std::size_t keys = shares.size() / weights.size();
    for (std::size_t row = 0; row < weights.size(); ++row)
      for (float& share : shares.subspan(row * keys, keys)) share *= weights[row];
  }
  /// Adds weighted rows. Heads are side by side in a result, one below the other in scores.
  void add_weighed(std::span<float> sum, std::span<const float> term, std::span<const float> weights) const {
    const auto heads = static_cast<std::size_t>(heads_), queries = static_cast<std::size_t>(queries_);
    const std::size_t width = sum.size() / weights.size();
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const std::size_t head = at % heads, query = at / heads % queries, sample = at / heads / queries;
      const float weight = weights[(sample * heads + head) * queries + query];
      for (std::size_t i = at * width; i < (at + 1) * width; ++i) sum[i] += weight * term[i];
    }
  }
  /// [block][row] exp(its logarithm) over the sum of all blocks.
  std::vector<std::vector<float>> parts(const std::vector<Lease>& log_sums) const {
    std::vector<std::vector<float>> out;
    for (const Lease& block : log_sums) {
      const FloatView values = floats(block);
      out.emplace_back((*values).begin(), (*values).end());
    }
    for (std::size_t r = 0; r < out.front().size(); ++r) {
      float most = out.front()[r], sum = 0;
      for (const auto& block : out) most = std::max(most, block[r]);
      for (const auto& block : out) sum += std::exp(block[r] - most);
      for (auto& block : out) block[r] = std::exp(block[r] - most) / sum;
    }
    return out;
  }

  DeviceContext& device_;
  const std::string name_;
  const std::int64_t samples_;
  const std::size_t members_;
  std::int64_t heads_, queries_;
  kernels::Kernel* kernel_;
  Seconds hop_, hop_with_gradients_;  ///< keys and values; keys and values with their gradients
};

}  // namespace

std::unique_ptr<ContextCore> make_ring_core(DeviceContext& device, const ContextGroup& group, core::OpId id,
                                            std::int64_t samples) {
  return std::make_unique<RingCore>(device, group, id, samples);
}

}  // namespace penstock::replay
