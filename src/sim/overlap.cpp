#include "overlap.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::sim {

Overlap::Overlap(const TaskGraph& graph, Agenda& agenda)
    : graph_(graph), agenda_(agenda), devices_(graph.overlap.size()) {}

double Overlap::factor(std::size_t device) const {
  return devices_[device].communicating > 0 ? graph_.overlap[device] : 1;
}

void Overlap::compute(TaskId id, std::int64_t now) {
  const Task task = graph_.task(id);
  const auto d = static_cast<std::size_t>(task.place);
  devices_[d].running = id;
  devices_[d].left = static_cast<double>(task.duration);
  post_end(d, now);
}

void Overlap::post_end(std::size_t d, std::int64_t now) {
  Device& device = devices_[d];
  const std::int64_t work = std::llround(device.left * factor(d));
  device.since = now;
  device.end = graph_.speed.empty() ? now + work : graph_.speed[d].finish(now, work);
  agenda_.post(device.running, device.end);
}

bool Overlap::due(TaskId id, std::int64_t now) {
  Device& device = devices_[static_cast<std::size_t>(graph_.task(id).place)];
  if (device.running != id || device.end != now) return false;
  device.running = -1;
  return true;
}

void Overlap::communicate(TaskId id, std::int64_t now, int by) {
  const Task task = graph_.task(id);
  if (task.travels()) {
    change(static_cast<std::size_t>(graph_.path(id).from), now, by);
    change(static_cast<std::size_t>(graph_.path(id).to), now, by);
  } else if (task.duration > 0) {
    const auto& devices = task.micro_batch >= 0
                              ? graph_.shared_devices[static_cast<std::size_t>(task.micro_batch)]
                              : graph_.stage_devices[static_cast<std::size_t>(task.stage)];
    for (const std::int32_t d : devices) change(static_cast<std::size_t>(d), now, by);
  }
}

void Overlap::change(std::size_t d, std::int64_t now, int by) {
  Device& device = devices_[d];
  const double before = factor(d);
  const int count = device.communicating + by;
  if (device.running >= 0 && (count > 0) != (device.communicating > 0)) {
    const auto elapsed = graph_.speed.empty() ? static_cast<double>(now - device.since)
                                              : graph_.speed[d].done(device.since, now);
    device.left = std::max(0.0, device.left - elapsed / before);
    device.communicating = count;
    if (device.end > now) post_end(d, now);
  }
  device.communicating = count;
}

}  // namespace penstock::sim
