#include "mail.hpp"

#include "penstock/core/error.hpp"

namespace penstock::replay {

using core::StageId;
using plan::MemoryKind;

Mail::Mail(Device& device, const std::vector<Instruction>& instructions) : device_(device) {
  for (const Instruction& instruction : instructions)
    if (instruction.micro_batch >= 0)
      shares_[{instruction.stage, instruction.micro_batch}] = instruction.samples;
}

std::vector<Region> Mail::room_for(const Message& message) {
  const std::lock_guard lock(mutex_);
  const MicroBatch micro_batch{message.to, message.needed_in};
  const Samples share = shares_.at(micro_batch);
  StageRun::Tensors& parcel = arrivals_[{micro_batch, message.gradient, message.from}];
  std::vector<Region> out;
  for (const core::OpId id : message.tensors) {
    const kernels::Made& made = device_.wire(id).made;
    Lease& lease = parcel[id];
    if (lease == nullptr)
      lease = device_.pool->acquire(made.element, made.count * share.count, MemoryKind::buffers,
                                    "a message with '" + device_.name(id) + "'", true);
    out.push_back(part(lease, share, message.samples));
  }
  return out;
}

Region Mail::part(const Lease& lease, Samples all, Samples some) const {
  const core::Bytes each = lease->bytes() / all.count;
  return {lease, each * (some.first - all.first), each * some.count};
}

/// In the order of the stages they come from.
template <class Use>
void Mail::take(MicroBatch of, bool gradients, const Use& use) {
  const std::lock_guard lock(mutex_);
  auto parcel = arrivals_.lower_bound({of, gradients, StageId()});
  for (; parcel != arrivals_.end() && std::get<0>(parcel->first) == of &&
         std::get<1>(parcel->first) == gradients;
       parcel = arrivals_.erase(parcel))
    for (const auto& [id, lease] : parcel->second) use(id, lease);
}

StageRun::Tensors Mail::take_tensors(StageId stage, std::int32_t micro_batch) {
  StageRun::Tensors out;
  take({stage, micro_batch}, false, [&](core::OpId id, const Lease& lease) {
    device_.pool->move(lease, MemoryKind::activations);
    out[id] = lease;
  });
  return out;
}

StageRun::Received Mail::take_gradients(StageId stage, std::int32_t micro_batch) {
  StageRun::Received out;
  take({stage, micro_batch}, true, [&](core::OpId id, const Lease& lease) { out[id].push_back(lease); });
  return out;
}

/// The gradient of what nothing trains above is zeros.
void Mail::post(const Message& message, const StageRun& stage) {
  if (message.tensors.empty()) return;  // an order, nobody fetches it
  const Samples share = shares_.at({message.from, message.sent_in});
  std::vector<Region> regions;
  for (const core::OpId id : message.tensors) {
    Lease lease = message.gradient ? stage.gradient(message.sent_in, id) : stage.tensor(message.sent_in, id);
    const kernels::Made& made = device_.wire(id).made;
    if (lease == nullptr)
      lease = device_.zeros(made.element, made.count * share.count, MemoryKind::workspace,
                            "the gradient of '" + device_.name(id) + "'");
    regions.push_back(part(lease, share, message.samples));
  }
  const std::lock_guard lock(mutex_);
  posted_[{message.from, message.to, message.gradient, message.samples.first}] = std::move(regions);
}

std::vector<Region> Mail::fetch(const Message& message) {
  const std::lock_guard lock(mutex_);
  auto posted = posted_.extract({message.from, message.to, message.gradient, message.samples.first});
  core::require(!posted.empty(), "a message is fetched once, after the pass that makes it");
  return std::move(posted.mapped());
}

}  // namespace penstock::replay
