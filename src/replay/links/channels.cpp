#include "links/channels.hpp"

namespace penstock::replay {

void DeviceChannels::add(Way way, std::size_t rank, kernels::Backend& backend,
                         std::unique_ptr<kernels::Collectives> library) {
  lanes_.try_emplace(way, ChannelEnd{rank, std::move(library), backend.make_stream()});
}

void DeviceChannels::put(Way way, Pieces pieces, std::function<void()> landed) {
  ChannelEnd& lane = lanes_.at(way);
  lane.tasks.push_back({std::move(pieces), std::move(landed)});
  if (lane.tasks.size() == 1) begin(lane);
}

void DeviceChannels::begin(ChannelEnd& lane) {
  std::vector<BufferSlice> slices;
  for (const MemoryPiece& piece : lane.tasks.front().pieces)
    if (piece.size > 0) slices.push_back(halves(piece));
  std::vector<kernels::Buffer*> to;
  for (BufferSlice& slice : slices) to.push_back(&slice);
  if (lane.rank == 0)
    lane.library->send(0, 1, {to.begin(), to.end()}, *lane.stream);
  else
    lane.library->receive(1, 0, to, *lane.stream);
}

bool DeviceChannels::done(ChannelEnd& lane) {
  if (!lane.library->settled(lane.rank)) return false;
  if (lane.over == nullptr) lane.over = lane.stream->record_event();
  return lane.over->reached();
}

bool DeviceChannels::land() {
  bool any = false;
  for (auto& [way, lane] : lanes_) {
    if (lane.tasks.empty() || !done(lane)) continue;
    any = true;
    lane.over = nullptr;
    const ChannelTask task = std::move(lane.tasks.front());
    lane.tasks.pop_front();
    if (!lane.tasks.empty()) begin(lane);
    task.landed();
  }
  return any;
}

void DeviceChannels::abort() {
  for (auto& [way, lane] : lanes_) lane.library->abort();
}

}  // namespace penstock::replay
