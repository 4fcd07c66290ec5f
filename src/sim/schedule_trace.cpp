#include "penstock/sim/schedule_trace.hpp"

#include <algorithm>
#include <tuple>

#include "penstock/program/instruction.hpp"

namespace penstock::sim {
namespace {

using schedule::Action;
using schedule::ActionKind;

trace::Span span(const Action& part, std::size_t rank, core::Picoseconds start, core::Picoseconds end) {
  return {program::traced(part.kind),
          core::DeviceId(rank),
          {},
          core::StageId(static_cast<std::size_t>(part.stage)),
          part.micro_batch,
          start,
          end,
          {}};
}

void append(const Action& action, std::size_t rank, const TimeInterval& time, core::Picoseconds forward,
            std::vector<trace::Span>& spans) {
  if (time.start == time.end) return;
  if (action.kind != ActionKind::overlapped) {
    spans.push_back(span(action, rank, time.start, time.end));
    return;
  }
  const auto halves = schedule::parts(action);
  spans.push_back(span(halves.list[0], rank, time.start, time.start + forward));
  spans.push_back(span(halves.list[1], rank, time.start + forward, time.end));
}

std::vector<core::StageId> stages_of(const schedule::Schedule& schedule, std::size_t rank) {
  std::vector<core::StageId> out;
  for (std::size_t s = 0; s < schedule.rank_of_stage.size(); ++s)
    if (schedule.rank_of_stage[s] == static_cast<std::int32_t>(rank)) out.emplace_back(s);
  return out;
}

auto sort_key(const trace::Span& s) {
  return std::tuple(s.start, s.device, s.kind, s.stage, s.micro_batch);
}

}  // namespace

trace::Trace to_trace(const schedule::Schedule& schedule, const ScheduleTimes& result,
                      const schedule::PassCosts& costs) {
  trace::Trace out;
  out.mini_batch = schedule::micro_batches(schedule) * schedule.copies;
  out.iteration = result.makespan;
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    out.devices.push_back({stages_of(schedule, r), {}, {}, {{}}});
    for (std::size_t c = 0; c < schedule.ranks[r].size(); ++c)
      append(schedule.ranks[r][c], r, result.times[r][c], costs.forward, out.spans);
  }
  std::sort(out.spans.begin(), out.spans.end(),
            [](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
  return out;
}

}  // namespace penstock::sim
