#include "worker/message_buffers.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::replay {

using core::StageId;
using plan::MemoryKind;

namespace {

/// One part of all bytes concatenated; parts are as equal as whole numbers allow.
std::vector<BufferRegion> part_of(const std::vector<BufferRegion>& whole, std::int64_t part,
                                  std::int64_t parts) {
  std::int64_t all = 0;
  for (const BufferRegion& region : whole) all += region.bytes.value();
  const auto start = [&](std::int64_t i) { return all / parts * i + std::min(i, all % parts); };
  std::vector<BufferRegion> out;
  std::int64_t at = 0;
  for (const BufferRegion& region : whole) {
    const std::int64_t size = region.bytes.value(), each = kernels::size(region.buffer->element());
    const auto cut = [&](std::int64_t i) {
      return std::clamp(start(i) - at, std::int64_t{0}, size) / each * each;
    };
    const std::int64_t begin = cut(part), end = cut(part + 1);
    if (begin < end)
      out.push_back({region.buffer, region.offset + core::Bytes(begin), core::Bytes(end - begin)});
    at += size;
  }
  return out;
}

}  // namespace

MessageBuffers::MessageBuffers(DeviceContext& device, const DevicePrograms& program, core::DeviceId id)
    : device_(device), program_(program) {
  for (const DeviceInstruction& instruction : program.devices[id.index()])
    if (instruction.micro_batch >= 0)
      shares_[{instruction.stage, instruction.micro_batch}] = instruction.samples;
}

std::vector<BufferRegion> MessageBuffers::room_for(const DeviceMessage& message) {
  const std::lock_guard lock(mutex_);
  return part_of(whole(message, arrival(message)), message.part, message.parts);
}

StageRun::Tensors& MessageBuffers::arrival(const DeviceMessage& message) {
  return arrivals_[{{message.to, message.needed_in}, message.gradient, message.source}];
}

/// Buffers for the whole message.
std::vector<BufferRegion> MessageBuffers::whole(const DeviceMessage& message,
                                                StageRun::Tensors& transfer) const {
  const SampleRange share = shares_.at({message.to, message.needed_in});
  std::vector<BufferRegion> out;
  for (const core::OpId id : message.tensors) {
    const kernels::SampleTensor& made = device_.wire(id).made;
    Lease& lease = transfer[id];
    if (lease == nullptr)
      lease = device_.pool->acquire(made.element, made.count * share.count, MemoryKind::buffers,
                                    "a message with '" + device_.name(id) + "'", true);
    out.push_back(part(lease, share, message.samples));
  }
  return out;
}

BufferRegion MessageBuffers::part(const Lease& lease, SampleRange all, SampleRange some) const {
  const core::Bytes each = lease->bytes() / all.count;
  return {lease, each * (some.first - all.first), each * some.count};
}

void MessageBuffers::complete(const DeviceInstruction& instruction, core::Seconds time) {
  std::vector<Lease> buffers;
  std::vector<MissingBytes> missing;
  {
    const std::lock_guard lock(mutex_);
    std::set<std::pair<StageId, std::int64_t>> seen;  // {sender, samples}
    for (const MessageId id : instruction.receives) {
      const DeviceMessage& message = program_.messages[static_cast<std::size_t>(id)];
      if (message.tensors.empty() || !seen.insert({message.from, message.samples.first}).second) continue;
      const auto all = whole(message, arrival(message));
      for (std::int32_t part = 0; part < message.parts; ++part) {
        const std::size_t owner = static_cast<std::size_t>(part) % device_.division.members();
        for (const BufferRegion& region : part_of(all, part, message.parts)) {
          const auto place = std::ranges::find(buffers, region.buffer) - buffers.begin();
          if (place == std::ssize(buffers)) buffers.push_back(region.buffer);
          if (owner != device_.division.member())
            missing.push_back({owner, static_cast<std::size_t>(place), region.offset, region.bytes});
        }
      }
    }
  }
  if (!buffers.empty()) replay::complete(device_, buffers, missing, time);
}

/// Calls `use` in the order of the sending stages.
template <class Use>
void MessageBuffers::take(MicroBatch of, bool gradients, const Use& use) {
  const std::lock_guard lock(mutex_);
  auto transfer = arrivals_.lower_bound({of, gradients, StageId()});
  for (; transfer != arrivals_.end() && std::get<0>(transfer->first) == of &&
         std::get<1>(transfer->first) == gradients;
       transfer = arrivals_.erase(transfer))
    for (const auto& [id, lease] : transfer->second) use(id, lease);
}

StageRun::Tensors MessageBuffers::take_tensors(StageId stage, std::int32_t micro_batch) {
  StageRun::Tensors out;
  take({stage, micro_batch}, false, [&](core::OpId id, const Lease& lease) {
    device_.pool->move(lease, MemoryKind::activations);
    out[id] = lease;
  });
  return out;
}

StageRun::Received MessageBuffers::take_gradients(StageId stage, std::int32_t micro_batch) {
  StageRun::Received out;
  take({stage, micro_batch}, true, [&](core::OpId id, const Lease& lease) { out[id].push_back(lease); });
  return out;
}

/// Stores a message; the gradient of a tensor above which nothing trains is zero.
void MessageBuffers::offer(const DeviceMessage& message, const StageRun& stage) {
  if (message.tensors.empty()) return;  // an order without data, never fetched
  const SampleRange share = shares_.at({message.from, message.sent_in});
  std::vector<BufferRegion> regions;
  for (const core::OpId id : message.tensors) {
    Lease lease = message.gradient ? stage.gradient(message.sent_in, id) : stage.tensor(message.sent_in, id);
    const kernels::SampleTensor& made = device_.wire(id).made;
    if (lease == nullptr)
      lease = device_.zeros(made.element, made.count * share.count, MemoryKind::workspace,
                            "the gradient of '" + device_.name(id) + "'");
    regions.push_back(part(lease, share, message.samples));
  }
  const std::lock_guard lock(mutex_);
  offered_[{message.from, message.to, message.gradient, message.samples.first, message.part}] =
      part_of(regions, message.part, message.parts);
}

std::vector<BufferRegion> MessageBuffers::fetch(const DeviceMessage& message) {
  const std::lock_guard lock(mutex_);
  auto offered =
      offered_.extract({message.from, message.to, message.gradient, message.samples.first, message.part});
  core::require(!offered.empty(), "a message is fetched once, after the pass that makes it");
  return std::move(offered.mapped());
}

}  // namespace penstock::replay
