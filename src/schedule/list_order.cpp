#include "penstock/schedule/list_order.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "dispatch.hpp"

namespace penstock::schedule {
namespace {

using core::Picoseconds;
using Cycle = std::int64_t;

bool fused(const PipelineStep& backward, std::size_t forward) {
  return std::find(backward.waits_for.begin(), backward.waits_for.end(), forward) != backward.waits_for.end();
}

/// Computes the cycle of every step of a micro-batch. It is one after the steps waited for, equal for the two
/// halves of a fused pass, and never before `earliest`.
void find_cycles(const UnrolledPipeline& unrolled, const std::vector<Cycle>& earliest,
                 std::vector<Cycle>& cycle) {
  for (const std::size_t id : unrolled.topological) {
    const PipelineStep& step = unrolled.steps[id];
    const bool joins = step.phase == PassPhase::backward && fused(step, id - unrolled.sites);
    cycle[id] = earliest[id];
    for (const std::size_t before : step.waits_for)
      cycle[id] = std::max(cycle[id], cycle[before] + (joins ? 0 : 1));
  }
}

std::vector<Cycle> cycles_of_one(const UnrolledPipeline& unrolled) {
  std::vector<Cycle> cycle(unrolled.steps.size());
  find_cycles(unrolled, std::vector<Cycle>(cycle.size()), cycle);
  return cycle;
}

/// Row with backward, then forward, in each cycle; the backward of a fused pass comes right after its
/// forward.
std::vector<Task> by_cycle(const std::vector<Cycle>& forward, const std::vector<Cycle>& backward,
                           bool is_fused) {
  std::vector<Task> row;
  std::size_t f = 0, b = 0;
  while (f < forward.size() || b < backward.size()) {
    const bool back =
        f == forward.size() || (b < backward.size() && backward[b] + (is_fused ? 1 : 0) <= forward[f]);
    row.push_back(
        {back ? PassPhase::backward : PassPhase::forward, static_cast<std::int32_t>(back ? b++ : f++)});
  }
  return row;
}

/// [step][micro-batch] cycle.
std::vector<std::vector<Cycle>> find_all_cycles(const Pipeline& pipeline, const UnrolledPipeline& unrolled) {
  const auto count = static_cast<std::size_t>(pipeline.micro_batches);
  std::vector<std::vector<Cycle>> cycles(unrolled.steps.size(), std::vector<Cycle>(count));
  std::vector<Cycle> earliest(unrolled.steps.size()), cycle(unrolled.steps.size());
  for (std::size_t m = 0; m < count; ++m) {
    // With room for K micro-batches, a stage starts m after the backward pass of m - K.
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s)
      if (const auto room = static_cast<std::size_t>(pipeline.stages[s].room); room > 0 && m >= room)
        earliest[s] = std::max(earliest[s], cycles[unrolled.backward(s)][m - room]);
    find_cycles(unrolled, earliest, cycle);
    // Micro-batch m + 1 follows at least a cycle later, at every step.
    for (std::size_t id = 0; id < cycle.size(); ++id) {
      cycles[id][m] = cycle[id];
      earliest[id] = cycle[id] + 1;
    }
  }
  return cycles;
}

MachineOrder cyclic(const Pipeline& pipeline) {
  const UnrolledPipeline unrolled(pipeline);
  const auto cycles = find_all_cycles(pipeline, unrolled);
  const std::vector<Cycle> none;
  MachineOrder out;
  for (const auto& steps : unrolled.steps_of) {
    const std::size_t first = steps.front(), last = steps.back();
    const bool forward = unrolled.steps[first].phase == PassPhase::forward;
    const bool backward = unrolled.steps[last].phase == PassPhase::backward;
    out.push_back(by_cycle(forward ? cycles[first] : none, backward ? cycles[last] : none,
                           fused(unrolled.steps[last], first)));
  }
  return out;
}

/// [stage] forwards before the first backward: one more than any successor, but no more than any predecessor.
std::vector<int> warm_up(const Pipeline& pipeline) {
  std::vector<int> held(pipeline.stages.size(), 1);
  std::vector<PipelineLink> links = pipeline.links;
  std::sort(links.begin(), links.end(), [](const auto& a, const auto& b) { return a.from > b.from; });
  const auto at = [&](int s) -> int& { return held[static_cast<std::size_t>(s)]; };
  // Backwards through the pipeline: one more than the next stage.
  for (const PipelineLink& link : links) at(link.from) = std::max(at(link.from), at(link.to) + 1);
  for (std::size_t s = 0; s < held.size(); ++s) {
    held[s] = std::min(held[s], pipeline.micro_batches);
    if (pipeline.stages[s].room > 0) held[s] = std::min(held[s], pipeline.stages[s].room);
  }
  // Forwards: no more than the stage before.
  std::sort(links.begin(), links.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  for (const PipelineLink& link : links) at(link.to) = std::min(at(link.to), at(link.from));
  return held;
}

/// Deadlock is impossible: a stage waits for micro-batch m + held - 1 before its backward of m. No stage
/// before it holds fewer, so that micro-batch passes once m - 1 is finished.
DispatchResult one_f_one_b(const Pipeline& pipeline) {
  MachineOrder rows;
  for (const int held : warm_up(pipeline)) {
    std::vector<Task> row;
    for (std::int32_t f = 0; f < held; ++f) row.push_back({PassPhase::forward, f});
    for (std::int32_t b = 0; b < pipeline.micro_batches; ++b) {
      row.push_back({PassPhase::backward, b});
      if (b + held < pipeline.micro_batches) row.push_back({PassPhase::forward, b + held});
    }
    rows.push_back(std::move(row));
  }
  return dispatch(pipeline, rows);
}

/// Longest time of a machine for its tasks of one cycle, arrival included.
Picoseconds longest_cycle(const UnrolledPipeline& unrolled) {
  Picoseconds longest(0);
  for (const auto& ids : unrolled.steps_of) {
    Picoseconds work(0), latency(0);
    for (const std::size_t id : ids) {
      work += unrolled.steps[id].duration;
      latency = std::max(latency, unrolled.steps[id].latency);
    }
    longest = std::max(longest, work + latency);
  }
  return longest;
}

Cycle period(const Pipeline& pipeline, const UnrolledPipeline& unrolled, const std::vector<Cycle>& cycle) {
  Cycle p = 1;
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s)
    if (const int room = pipeline.stages[s].room; room > 0 && room < pipeline.micro_batches)
      p = std::max(p, (cycle[unrolled.backward(s)] - cycle[unrolled.forward(s)] + room - 1) / room);
  return p;
}

DispatchResult dispatched_by(ListRule rule, const Pipeline& pipeline) {
  switch (rule) {
    case ListRule::cyclic: {
      MachineOrder order = cyclic(pipeline);
      const Picoseconds makespan = execute(pipeline, order).makespan;
      return {std::move(order), makespan};
    }
    case ListRule::eager:
      return dispatch(pipeline, {});
    case ListRule::one_f_one_b:
      return one_f_one_b(pipeline);
  }
  return {};
}

}  // namespace

std::string_view name(ListRule rule) {
  return rule == ListRule::cyclic ? "cyclic" : rule == ListRule::eager ? "eager" : "1f1b";
}

MachineOrder order_by(ListRule rule, const Pipeline& pipeline) {
  check_runnable(pipeline);
  return dispatched_by(rule, pipeline).order;
}

ListOrder list_order(const Pipeline& pipeline) {
  check_runnable(pipeline);
  std::optional<ListOrder> best;
  for (const ListRule rule : kListRules)
    if (DispatchResult made = dispatched_by(rule, pipeline); !best || made.makespan < best->makespan)
      best = ListOrder{rule, std::move(made.order), made.makespan};
  return *std::move(best);
}

Picoseconds list_order_bound(const Pipeline& pipeline) {
  const UnrolledPipeline unrolled(pipeline);
  const std::vector<Cycle> cycle = cycles_of_one(unrolled);
  const Cycle cycles = period(pipeline, unrolled, cycle) * (pipeline.micro_batches - 1) +
                       *std::max_element(cycle.begin(), cycle.end()) + 1;
  const Cycle work = longest_cycle(unrolled).value();
  Cycle after = 0;
  for (const PipelineStage& stage : pipeline.stages) after = std::max(after, stage.after.value());
  constexpr Cycle kClock = std::numeric_limits<Cycle>::max();
  return Picoseconds(work > (kClock - after) / cycles ? kClock : cycles * work + after);
}

}  // namespace penstock::schedule
