#include "worker/expert_dispatch.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/layout/experts.hpp"
#include "worker/context_core.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using graph::Experts;
using graph::Pass;
using kernels::Buffer;
using kernels::Operands;

/// Indices of the `count` largest; of equal ones the first.
std::vector<std::size_t> largest(std::span<const float> of, std::size_t count) {
  std::vector<std::size_t> out(of.size());
  std::iota(out.begin(), out.end(), 0);
  std::ranges::partial_sort(out, out.begin() + static_cast<std::ptrdiff_t>(count),
                            [&](auto a, auto b) { return of[a] > of[b] || (of[a] == of[b] && a < b); });
  out.resize(count);
  return out;
}

}  // namespace

std::size_t ExpertRoutes::arrives(std::size_t device, std::size_t sender) const {
  std::size_t out = 0;
  for (std::size_t s = 0; s < sender; ++s) out += count(s, device);
  return out;
}

ExpertDispatch::ExpertDispatch(DeviceContext& device, const plan::Stage& stage, core::OpId id,
                               std::int64_t samples)
    : device_(device), name_(device.name(id)), one_row_(device.graph.op(id)) {
  const OperatorShard& shard = device.shard(id);
  const auto& own = as<Experts>(shard.op);
  const std::int64_t experts = as<Experts>(device.graph.op(id)).experts;
  hidden_ = static_cast<std::size_t>(own.hidden);
  chosen_ = static_cast<std::size_t>(own.chosen);
  experts_ = static_cast<std::size_t>(experts);
  own_experts_ = experts_ / device.division.expert_parts();
  sample_rows_ = static_cast<std::size_t>(own.rows);
  rows_ = static_cast<std::size_t>(own.rows * samples);
  in_turn_ = own.in_turn;
  const core::Bytes rows = layout::copied_rows(shard.op, device.graph.element_bytes());
  const cost::GroupTimes groups(device.cluster, layout::groups(stage, layout::GroupScope::experts));
  for (const auto& each : layout::expert_collectives(id, rows, stage, plan::Partition::whole, false).forward)
    time_ += groups.time(each, samples);
  const kernels::SampleTensor& made = device.wire(id).made;
  slots_.inputs = {{"x", {samples, own.rows, own.hidden}, made.element},
                   {"probabilities", {samples, own.rows, experts}, made.element}};
  slots_.output = {"y", {samples, own.rows, own.hidden}, made.element};
  slots_.handed = {{"kept among the saved tensors", {1}, made.element}};
  for (const kernels::ParameterSlot& parameter : shard.parameters)
    slots_.parameters.push_back(parameter.slot);
  auto& one = std::get<Experts>(one_row_.attributes);
  one.rows = one.chosen = 1;
  one.experts = static_cast<std::int64_t>(own_experts_);
  one.in_turn = false;  // a copy's only probability is its expert's
}

void ExpertDispatch::run(Pass pass, const Operands& operands, kernels::Stream& stream) {
  auto& kept = dynamic_cast<DispatchedRows&>(*operands.saved.at(0));
  stream.synchronise();
  if (pass == Pass::forward) return forward(operands, kept, stream);
  if (pass == Pass::input_gradient) return input_gradients(operands, kept, stream);
  kept.kernel->run(Pass::weight_gradient, local(operands, kept), stream);
}

void ExpertDispatch::forward(const Operands& all, DispatchedRows& kept, kernels::Stream& stream) {
  kept.routes = routes_of(*floats(*all.inputs[1]));
  receive(*floats(*all.inputs[0]), kept);
  kept.kernel->run(Pass::forward, local(all, kept), stream);
  stream.synchronise();
  kept.results = returned(kept.routes, *floats(*kept.output));
  const FloatView out = floats(*all.output);
  add_up(kept.results, kept.routes.share, *out);
  out.write_back();
}

/// Sum of a row's copies, weighted by their shares.
void ExpertDispatch::add_up(std::span<const float> copies, std::span<const float> shares,
                            std::span<float> rows) const {
  std::ranges::fill(rows, 0.0f);
  for (std::size_t copy = 0; copy < shares.size(); ++copy) {
    const std::span<const float> from = row(copies, copy);
    const std::span<float> to = row(rows, copy / chosen_);
    for (std::size_t i = 0; i < hidden_; ++i) to[i] += shares[copy] * from[i];
  }
}

/// Chooses experts like the kernel of a whole mixture.
std::vector<std::size_t> ExpertDispatch::experts_of(std::size_t row,
                                                    std::span<const float> probabilities) const {
  if (!in_turn_) return largest(probabilities, chosen_);
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < chosen_; ++j) out.push_back((row % sample_rows_ * chosen_ + j) % experts_);
  return out;
}

/// Routes of all rows: shares are probabilities of a row's experts over their sum; copies are sorted by their
/// target devices.
ExpertRoutes ExpertDispatch::routes_of(std::span<const float> probabilities) const {
  ExpertRoutes out;
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::span<const float> of = probabilities.subspan(row * experts_, experts_);
    float sum = 0;
    for (const std::size_t expert : experts_of(row, of)) {
      out.expert.push_back(static_cast<std::int64_t>(expert));
      out.share.push_back(of[expert]);
      sum += of[expert];
    }
    for (std::size_t j = 0; j < chosen_; ++j) out.share[row * chosen_ + j] /= sum;
  }
  out.order.resize(out.expert.size());
  std::iota(out.order.begin(), out.order.end(), 0);
  std::ranges::stable_sort(out.order, {}, [&](std::size_t copy) { return device_of(out.expert[copy]); });
  return out;
}

/// Every device announces which rows it sends to which device, and for which experts.
void ExpertDispatch::receive(std::span<const float> rows, DispatchedRows& kept) {
  ExpertRoutes& routes = kept.routes;
  const std::size_t devices = device_.division.expert_parts(), own = device_.division.expert_part();
  std::vector<std::int64_t> note;
  for (const std::size_t copy : routes.order) note.push_back(routes.expert[copy]);
  const Numbers outgoing = sent(routes, rows);
  share({std::as_bytes(std::span(note)), std::as_bytes(std::span(outgoing))}, time_,
        [&](const std::vector<GroupPeers::Shared>& all) {
          std::vector<std::size_t> experts;
          for (const GroupPeers::Shared& sent : all) {
            const std::span<const std::int64_t> to(reinterpret_cast<const std::int64_t*>(sent[0].data()),
                                                   sent[0].size() / sizeof(std::int64_t));
            auto& starts = routes.starts.emplace_back(devices + 1);
            for (const std::int64_t expert : to) ++starts[device_of(expert) + 1];
            std::partial_sum(starts.begin(), starts.end(), starts.begin());
            for (std::size_t i = starts[own]; i < starts[own + 1]; ++i)
              experts.push_back(static_cast<std::size_t>(to[i]) - own * own_experts_);
          }
          make_room(kept, experts);
          take(routes, all, 1, *kept.rows);
        });
}

/// Copies of rows, in the order of sending.
ExpertDispatch::Numbers ExpertDispatch::sent(const ExpertRoutes& routes, std::span<const float> rows) const {
  Numbers out;
  out.reserve(routes.order.size() * hidden_);
  for (const std::size_t copy : routes.order) {
    const std::span<const float> from = row(rows, copy / chosen_);
    out.insert(out.end(), from.begin(), from.end());
  }
  return out;
}

/// Concatenates the `piece`-th data that the others sent to this device.
void ExpertDispatch::take(const ExpertRoutes& routes, const std::vector<GroupPeers::Shared>& all,
                          std::size_t piece, Buffer& into) const {
  const std::size_t own = device_.division.expert_part();
  const FloatView out = floats(into);
  std::ranges::fill(*out, 0.0f);
  auto to = (*out).begin();
  for (std::size_t s = 0; s < all.size(); ++s) {
    const auto* numbers = reinterpret_cast<const float*>(all[s][piece].data());
    to = std::copy(numbers + routes.starts[s][own] * hidden_, numbers + routes.starts[s][own + 1] * hidden_,
                   to);
  }
  out.write_back();
}

/// Creates a kernel for the received rows, of which each uses one whole expert; for one row of zeros if none
/// came.
void ExpertDispatch::make_room(DispatchedRows& kept, const std::vector<std::size_t>& experts) const {
  const std::size_t count = std::max<std::size_t>(1, experts.size());
  kept.kernel =
      device_.backend.make_kernel(one_row_, static_cast<std::int64_t>(count), device_.setup.precision);
  const kernels::KernelSlots& slots = kept.kernel->slots();
  kept.rows = acquire(slots.inputs[0], plan::MemoryKind::activations);
  kept.choices = acquire(slots.inputs[1], plan::MemoryKind::activations);
  kept.output = acquire(slots.output, plan::MemoryKind::workspace);
  for (const kernels::Slot& slot : slots.saved)
    kept.saved.push_back(acquire(slot, plan::MemoryKind::activations));
  const FloatView choices = floats(*kept.choices);
  std::ranges::fill(*choices, 0.0f);
  for (std::size_t copy = 0; copy < count; ++copy)
    (*choices)[copy * own_experts_ + (experts.empty() ? 0 : experts[copy])] = 1;
  choices.write_back();
}

/// Results that devices return for this one's copies, copy by copy. The first exchange takes the time of
/// both.
ExpertDispatch::Numbers ExpertDispatch::returned(const ExpertRoutes& routes,
                                                 std::span<const float> made) const {
  const std::size_t own = device_.division.expert_part();
  Numbers out;
  share({std::as_bytes(made)}, core::Seconds(0), [&](const std::vector<GroupPeers::Shared>& all) {
    out.resize(routes.order.size() * hidden_);
    for (std::size_t d = 0; d < all.size(); ++d) {
      const auto* numbers =
          reinterpret_cast<const float*>(all[d][0].data()) + routes.arrives(d, own) * hidden_;
      for (std::size_t i = routes.starts[own][d]; i < routes.starts[own][d + 1]; ++i, numbers += hidden_)
        std::copy_n(numbers, hidden_, out.begin() + static_cast<std::ptrdiff_t>(routes.order[i] * hidden_));
    }
  });
  return out;
}

void ExpertDispatch::input_gradients(const Operands& all, DispatchedRows& kept, kernels::Stream& stream) {
  const ExpertRoutes& routes = kept.routes;
  const FloatView gradient = floats(*all.output_gradient);
  Numbers outgoing = sent(routes, *gradient);
  for (std::size_t i = 0; i < routes.order.size(); ++i)
    for (float& number : row(std::span(outgoing), i)) number *= routes.share[routes.order[i]];
  const kernels::KernelSlots& slots = kept.kernel->slots();
  kept.gradient = acquire(slots.output, plan::MemoryKind::workspace);
  share({std::as_bytes(std::span(outgoing))}, time_,
        [&](const std::vector<GroupPeers::Shared>& shared) { take(routes, shared, 0, *kept.gradient); });
  kept.handed.clear();
  for (const kernels::Slot& slot : slots.handed)
    kept.handed.push_back(acquire(slot, plan::MemoryKind::workspace));
  const Lease of_rows = acquire(slots.inputs[0], plan::MemoryKind::workspace),
              of_choices = acquire(slots.inputs[1], plan::MemoryKind::workspace);
  Operands own = local(all, kept);
  own.input_gradients = {of_rows.get(), of_choices.get()};
  kept.kernel->run(Pass::input_gradient, own, stream);
  stream.synchronise();
  const Numbers terms = returned(routes, *floats(*of_rows));
  const FloatView rows = floats(*all.input_gradients[0]);
  add_up(terms, Numbers(routes.order.size(), 1), *rows);
  rows.write_back();
  const FloatView of_router = floats(*all.input_gradients[1]);
  probability_gradients(*floats(*all.inputs[1]), *gradient, kept, *of_router);
  of_router.write_back();
}

/// share = p / sum of the chosen; a probability that was not chosen has no effect.
void ExpertDispatch::probability_gradients(std::span<const float> probabilities,
                                           std::span<const float> gradient, const DispatchedRows& kept,
                                           std::span<float> out) const {
  std::ranges::fill(out, 0.0f);
  const ExpertRoutes& routes = kept.routes;
  for (std::size_t r = 0; r < rows_; ++r) {
    const std::size_t first = r * chosen_;
    const std::span<const float> mine = row(gradient, r);
    float sum = 0, mean = 0;
    Numbers by_share(chosen_);
    for (std::size_t j = 0; j < chosen_; ++j) {
      by_share[j] = std::inner_product(mine.begin(), mine.end(),
                                       row(std::span<const float>(kept.results), first + j).begin(), 0.0f);
      sum += probabilities[r * experts_ + static_cast<std::size_t>(routes.expert[first + j])];
      mean += routes.share[first + j] * by_share[j];
    }
    for (std::size_t j = 0; j < chosen_; ++j)
      out[r * experts_ + static_cast<std::size_t>(routes.expert[first + j])] = (by_share[j] - mean) / sum;
  }
}

/// Operands for the device's experts.
Operands ExpertDispatch::local(const Operands& all, const DispatchedRows& kept) const {
  Operands out;
  out.inputs = {kept.rows.get(), kept.choices.get()};
  out.parameters = all.parameters;
  out.parameter_gradients = all.parameter_gradients;
  out.output = kept.output.get();
  out.output_gradient = kept.gradient.get();
  for (const Lease& lease : kept.saved) out.saved.push_back(lease.get());
  for (const Lease& lease : kept.handed) out.handed.push_back(lease.get());
  return out;
}

void ExpertDispatch::share(const GroupPeers::Shared& own, core::Seconds time,
                           const std::function<void(const std::vector<GroupPeers::Shared>&)>& use) const {
  core::require(device_.experts.has_value(), "a device of an expert group has joined it");
  device_.experts->share(own, time, use);
}

Lease ExpertDispatch::acquire(const kernels::Slot& slot, plan::MemoryKind kind) const {
  return device_.pool->acquire(slot.element, slot.count(), kind, "operator '" + name_ + "'");
}

FloatView ExpertDispatch::floats(Buffer& buffer) const {
  return {device_.backend, buffer};
}

}  // namespace penstock::replay
