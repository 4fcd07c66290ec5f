#include "links/channels.hpp"

namespace penstock::replay {

void Channels::add(Way way, std::size_t rank, kernels::Backend& backend,
                   std::unique_ptr<kernels::Collectives> library) {
  lanes_.try_emplace(way, Lane{rank, std::move(library), backend.make_stream()});
}

void Channels::put(Way way, Pieces pieces, std::function<void()> landed) {
  Lane& lane = lanes_.at(way);
  lane.tasks.push_back({std::move(pieces), std::move(landed)});
  if (lane.tasks.size() == 1) begin(lane);
}

void Channels::begin(Lane& lane) {
  std::vector<Slice> slices;
  for (const Piece& piece : lane.tasks.front().pieces)
    if (piece.size > 0) slices.push_back(halves(piece));
  std::vector<kernels::Buffer*> to;
  for (Slice& slice : slices) to.push_back(&slice);
  if (lane.rank == 0)
    lane.library->send(0, 1, {to.begin(), to.end()}, *lane.stream);
  else
    lane.library->receive(1, 0, to, *lane.stream);
}

bool Channels::done(Lane& lane) {
  if (!lane.library->settled(lane.rank)) return false;
  if (lane.over == nullptr) lane.over = lane.stream->record_event();
  return lane.over->reached();
}

bool Channels::land() {
  bool any = false;
  for (auto& [way, lane] : lanes_) {
    if (lane.tasks.empty() || !done(lane)) continue;
    any = true;
    lane.over = nullptr;
    const Task task = std::move(lane.tasks.front());
    lane.tasks.pop_front();
    if (!lane.tasks.empty()) begin(lane);
    task.landed();
  }
  return any;
}

void Channels::abort() {
  for (auto& [way, lane] : lanes_) lane.library->abort();
}

}  // namespace penstock::replay
