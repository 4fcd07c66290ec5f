#include "penstock/score/pipeline_bounds.hpp"

#include <algorithm>

namespace penstock::score {
namespace {

using core::Picoseconds;
using schedule::Pipeline;
using schedule::PipelineStep;
using schedule::UnrolledPipeline;

class PipelineBoundSearch {
 public:
  explicit PipelineBoundSearch(const Pipeline& pipeline) : pipeline_(pipeline), unrolled_(pipeline) {
    for (std::size_t k = 0; k < kBoundKinds; ++k)
      out_.by_kind[k] = {static_cast<BoundKind>(k), 0, Picoseconds(0)};
    find_heads();
    find_tails();
  }

  PipelineBounds find() {
    for (const auto& steps : unrolled_.steps_of) machine(steps);
    for (std::size_t id = 0; id < unrolled_.steps.size(); ++id)
      offer(BoundKind::chain, id,
            head_[id] + passed(id) + duration(id) * (pipeline_.micro_batches - 1) + tail_[id]);
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s)
      if (pipeline_.stages[s].room > 0 && pipeline_.stages[s].room < pipeline_.micro_batches) memory(s);
    return out_;
  }

 private:
  Picoseconds duration(std::size_t id) const { return unrolled_.steps[id].duration; }
  /// Duration on a path: without the part done early, unless the pass waits only for the forward.
  Picoseconds passed(std::size_t id) const {
    const std::size_t s = id - unrolled_.backward(0);
    if (id < unrolled_.backward(0) || s >= pipeline_.stages.size()) return duration(id);
    const bool last = unrolled_.steps[id].waits_for.front() == unrolled_.forward(s);
    return last ? duration(id) : duration(id) - pipeline_.stages[s].early;
  }

  void find_heads() {
    head_.resize(unrolled_.steps.size());
    for (const std::size_t id : unrolled_.topological)
      for (const std::size_t before : unrolled_.steps[id].waits_for)
        head_[id] = std::max(head_[id], head_[before] + passed(before) + unrolled_.steps[before].latency);
  }

  void find_tails() {
    tail_.resize(unrolled_.steps.size());
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s)
      tail_[unrolled_.backward(s)] = pipeline_.stages[s].after;
    for (auto id = unrolled_.topological.rbegin(); id != unrolled_.topological.rend(); ++id)
      for (const std::size_t next : unrolled_.steps[*id].awaited_by)
        tail_[*id] = std::max(tail_[*id], unrolled_.steps[*id].latency + passed(next) + tail_[next]);
  }

  void offer(BoundKind kind, std::size_t id, Picoseconds time) {
    PipelineBound& most = out_.by_kind[static_cast<std::size_t>(kind)];
    if (time > most.time) most = {kind, id % unrolled_.sites, time};
  }

  /// Adds the bounds of one machine. Its first task is the first step's, its last task the last step's,
  /// because a backward follows its forward.
  void machine(const std::vector<std::size_t>& steps) {
    Picoseconds work(0);
    for (const std::size_t id : steps) work += duration(id) * pipeline_.micro_batches;
    const std::size_t first = steps.front(), last = steps.back();
    const Picoseconds after =
        first < pipeline_.stages.size() ? pipeline_.stages[first].after : Picoseconds(0);
    offer(BoundKind::work, first, work + after);
    offer(BoundKind::head_tail, first, head_[first] + work + tail_[last]);
  }

  void memory(std::size_t s) {
    const std::int64_t room = pipeline_.stages[s].room, count = pipeline_.micro_batches;
    const std::size_t forward = unrolled_.forward(s), backward = unrolled_.backward(s);
    const Picoseconds rounds = round_trip(s) * ((count + room - 1) / room);
    const Picoseconds rest = std::max(duration(forward), duration(backward)) * ((count - 1) % room);
    offer(BoundKind::memory, s, head_[forward] + rounds + rest + tail_[backward]);
  }

  /// Longest path from the start of a stage's forward to the end of its backward, both included.
  Picoseconds round_trip(std::size_t s) const {
    constexpr Picoseconds kUnreached(-1);
    std::vector<Picoseconds> end(unrolled_.steps.size(), kUnreached);
    for (const std::size_t id : unrolled_.topological) {
      if (id == unrolled_.forward(s)) end[id] = passed(id);
      for (const std::size_t before : unrolled_.steps[id].waits_for)
        if (end[before] != kUnreached)
          end[id] = std::max(end[id], end[before] + unrolled_.steps[before].latency + passed(id));
    }
    return std::max(end[unrolled_.backward(s)],
                    duration(unrolled_.forward(s)) + duration(unrolled_.backward(s)));
  }

  const Pipeline& pipeline_;
  const UnrolledPipeline unrolled_;
  std::vector<Picoseconds> head_;  ///< [step] until its start
  std::vector<Picoseconds> tail_;  ///< [step] from its end
  PipelineBounds out_;
};

}  // namespace

std::string_view name(BoundKind kind) {
  constexpr std::string_view kNames[] = {"work", "head/tail", "chain", "memory"};
  return kNames[static_cast<std::size_t>(kind)];
}

const PipelineBound& PipelineBounds::best() const {
  return *std::max_element(by_kind.begin(), by_kind.end(),
                           [](const PipelineBound& a, const PipelineBound& b) { return a.time < b.time; });
}

PipelineBounds pipeline_bounds(const Pipeline& pipeline) {
  return PipelineBoundSearch(pipeline).find();
}

}  // namespace penstock::score
