#include "network/fair_network.hpp"

#include <algorithm>
#include <limits>

#include "explain/stuck.hpp"

namespace penstock::sim {
namespace {

/// Whole picoseconds until `bytes` have arrived, at least one, limited to the clock's end. A flow beyond that
/// speeds up before, because no iteration is longer than the sum of its tasks.
std::int64_t time_of(double bytes, double rate) {
  constexpr double kForgiven = 1e-3, kClock = 9e18;
  const double exact = bytes / rate - kForgiven;
  if (!(exact < kClock)) return static_cast<std::int64_t>(kClock);
  const auto whole = static_cast<std::int64_t>(exact);
  return std::max<std::int64_t>(1, whole + (static_cast<double>(whole) < exact ? 1 : 0));
}

/// Sum of two non-negative times, limited to the clock's end.
std::int64_t later(std::int64_t a, std::int64_t b) {
  return b > std::numeric_limits<std::int64_t>::max() - a ? std::numeric_limits<std::int64_t>::max() : a + b;
}

}  // namespace

FairNetwork::FairNetwork(const TaskGraph& graph, EventAgenda& agenda, TaskRecorder& record)
    : graph_(graph),
      agenda_(agenda),
      record_(record),
      sharing_(graph.capacity),
      flow_of_(graph.tasks.size(), kNotYet) {
  const auto changes = static_cast<TaskId>(graph.changes.size());
  for (TaskId c = 0; c < changes; ++c)
    agenda.post(c - changes, graph.changes[static_cast<std::size_t>(c)].time);
}

void FairNetwork::request(TaskId transfer, std::int64_t now) {
  record_.start(transfer, now);
  const std::int64_t latency = graph_.path(transfer).latency;
  if (latency == 0 && graph_.task(transfer).bytes > 0)
    flow(transfer, now);
  else
    agenda_.post(transfer, now + latency);
}

bool FairNetwork::due(TaskId transfer, std::int64_t now) {
  if (transfer < 0) {
    const CapacityChange& change =
        graph_.changes[graph_.changes.size() - static_cast<std::size_t>(-transfer)];
    sharing_.set_capacity(change.link, change.capacity);
    return false;
  }
  std::int32_t& id = flow_of_[static_cast<std::size_t>(transfer)];
  if (id == kEnded) return false;
  if (id == kNotYet) {
    if (graph_.task(transfer).bytes > 0) return flow(transfer, now), false;
  } else {
    const auto f = static_cast<MaxMin::FlowId>(id);
    if (progress_[f].end != now) return false;
    sharing_.remove(f);
  }
  id = kEnded;
  return true;
}

void FairNetwork::settle(std::int64_t now) {
  sharing_.update([&](std::span<const MaxMin::FlowId> component) { reschedule(component, now); });
}

void FairNetwork::flow(TaskId transfer, std::int64_t now) {
  const MaxMin::FlowId f = sharing_.add(graph_.path(transfer).links);
  if (f >= progress_.size()) progress_.resize(f + 1);
  const auto t = static_cast<std::size_t>(transfer);
  const double stretch = graph_.stretch.empty() ? 1 : graph_.stretch[t];
  progress_[f] = {transfer, static_cast<double>(graph_.task(transfer).bytes) * stretch, 0, now, kNever};
  flow_of_[t] = static_cast<std::int32_t>(f);
}

void FairNetwork::change_rate(TransferProgress& progress, double rate, std::int64_t now) {
  progress.left -= progress.rate * static_cast<double>(now - progress.since);
  progress.rate = rate;
  progress.since = now;
  progress.end = rate > 0 ? later(now, time_of(progress.left, rate)) : kNever;
}

void FairNetwork::reschedule(std::span<const MaxMin::FlowId> component, std::int64_t now) {
  std::int64_t earliest = kNever;
  for (const MaxMin::FlowId f : component) {
    TransferProgress& progress = progress_[f];
    if (const double rate = sharing_.rate(f); rate != progress.rate) change_rate(progress, rate, now);
    earliest = std::min(earliest, progress.end);
  }
  if (earliest == kNever) return;
  for (const MaxMin::FlowId f : component)
    if (progress_[f].end == earliest) agenda_.post(progress_[f].task, earliest);
}

void FairNetwork::report_stalled() const {
  for (std::size_t t = 0; t < flow_of_.size(); ++t)
    if (flow_of_[t] >= 0) report_dead_link(graph_, static_cast<TaskId>(t));
}

}  // namespace penstock::sim
