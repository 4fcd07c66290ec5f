#include "overlap.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::sim {

OverlapSlowdown::OverlapSlowdown(const TaskGraph& graph, EventAgenda& agenda)
    : graph_(graph),
      agenda_(agenda),
      devices_(graph.overlap.empty() && graph.crowd.empty() ? 0 : graph.devices) {}

double OverlapSlowdown::factor(std::size_t device) const {
  const double overlap = devices_[device].communicating > 0 ? graph_.overlap[device] : 1;
  return graph_.crowd.empty() ? overlap : overlap * crowding(device);
}

double OverlapSlowdown::crowding(std::size_t device) const {
  const NodeCrowd& crowd = graph_.crowd;
  const auto uses = [&](std::size_t d) -> const cost::UseShares& {
    return crowd.uses[static_cast<std::size_t>(devices_[d].running)];
  };
  beside_.clear();
  for (const core::DeviceId neighbour : crowd.neighbours[device])
    if (const std::size_t d = neighbour.index(); devices_[d].running >= 0) beside_.push_back(uses(d));
  return cost::expected_slowdown(crowd.slowdowns, uses(device), beside_);
}

void OverlapSlowdown::compute(TaskId id, std::int64_t now) {
  const Task task = graph_.task(id);
  const auto d = static_cast<std::size_t>(task.place);
  devices_[d].running = id;
  devices_[d].left = static_cast<double>(task.duration);
  post_end(d, now);
  change_neighbours(d, now);
}

void OverlapSlowdown::post_end(std::size_t d, std::int64_t now) {
  DeviceState& device = devices_[d];
  device.factor = factor(d);
  const std::int64_t work = std::llround(device.left * device.factor);
  device.since = now;
  device.end = graph_.speed.empty() ? now + work : graph_.speed[d].finish(now, work);
  agenda_.post(device.running, device.end);
}

bool OverlapSlowdown::due(TaskId id, std::int64_t now) {
  const auto d = static_cast<std::size_t>(graph_.task(id).place);
  DeviceState& device = devices_[d];
  if (device.running != id || device.end != now) return false;
  device.running = -1;
  change_neighbours(d, now);
  return true;
}

void OverlapSlowdown::communicate(TaskId id, std::int64_t now, int by) {
  const Task task = graph_.task(id);
  if (task.travels()) {
    change(graph_.path(id).from.index(), now, by);
    change(graph_.path(id).to.index(), now, by);
  } else if (task.duration > 0) {
    const auto& devices = task.micro_batch >= 0
                              ? graph_.shared_devices[static_cast<std::size_t>(task.micro_batch)]
                              : graph_.stage_devices[task.stage.index()];
    for (const core::DeviceId device : devices) change(device.index(), now, by);
  }
}

void OverlapSlowdown::change(std::size_t d, std::int64_t now, int by) {
  DeviceState& device = devices_[d];
  const bool before = device.communicating > 0;
  device.communicating += by;
  if (before != (device.communicating > 0)) change_pace(d, now);
}

/// Called when the device begins or stops to compute.
void OverlapSlowdown::change_neighbours(std::size_t d, std::int64_t now) {
  if (graph_.crowd.empty()) return;
  for (const core::DeviceId neighbour : graph_.crowd.neighbours[d])
    if (const std::size_t n = neighbour.index(); devices_[n].running >= 0 && devices_[n].factor != factor(n))
      change_pace(n, now);
}

/// Work so far was done at the old pace.
void OverlapSlowdown::change_pace(std::size_t d, std::int64_t now) {
  DeviceState& device = devices_[d];
  if (device.running < 0) return;
  const auto elapsed = graph_.speed.empty() ? static_cast<double>(now - device.since)
                                            : graph_.speed[d].done(device.since, now);
  device.left = std::max(0.0, device.left - elapsed / device.factor);
  device.since = now;
  if (device.end > now) post_end(d, now);
}

}  // namespace penstock::sim
