#include "penstock/sim/grid_trace.hpp"

#include <algorithm>
#include <tuple>

namespace penstock::sim {
namespace {

using schedule::Action;
using schedule::Pass;
using trace::TaskKind;

TaskKind kind(Pass pass) {
  switch (pass) {
    case Pass::input_gradient:
      return TaskKind::input_gradient;
    case Pass::weight_gradient:
      return TaskKind::weight_gradient;
    case Pass::backward:
      return TaskKind::backward;
    case Pass::recompute:
      return TaskKind::recompute;
    case Pass::step:
      return TaskKind::step;
    default:
      return TaskKind::forward;
  }
}

trace::Span span(const Action& part, std::size_t rank, core::Picoseconds start, core::Picoseconds end) {
  return {kind(part.pass),
          core::DeviceId(rank),
          {},
          core::StageId(static_cast<std::size_t>(part.stage)),
          part.micro_batch,
          start,
          end,
          {}};
}

void append(const Action& action, std::size_t rank, const Interval& time, core::Picoseconds forward,
            std::vector<trace::Span>& spans) {
  if (time.start == time.end) return;
  if (action.pass != Pass::overlapped) {
    spans.push_back(span(action, rank, time.start, time.end));
    return;
  }
  const auto halves = schedule::parts(action);
  spans.push_back(span(halves.list[0], rank, time.start, time.start + forward));
  spans.push_back(span(halves.list[1], rank, time.start + forward, time.end));
}

std::vector<core::StageId> stages_of(const schedule::Grid& grid, std::size_t rank) {
  std::vector<core::StageId> out;
  for (std::size_t s = 0; s < grid.rank_of_stage.size(); ++s)
    if (grid.rank_of_stage[s] == static_cast<std::int32_t>(rank)) out.emplace_back(s);
  return out;
}

auto sort_key(const trace::Span& s) {
  return std::tuple(s.start, s.device, s.kind, s.stage, s.micro_batch);
}

}  // namespace

trace::Trace to_trace(const schedule::Grid& grid, const GridResult& result,
                      const schedule::GridCosts& costs) {
  trace::Trace out;
  out.mini_batch = schedule::micro_batches(grid) * grid.copies;
  out.iteration = result.makespan;
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
    out.devices.push_back({stages_of(grid, r), {}, {}, {{}}});
    for (std::size_t c = 0; c < grid.ranks[r].size(); ++c)
      append(grid.ranks[r][c], r, result.times[r][c], costs.forward, out.spans);
  }
  std::sort(out.spans.begin(), out.spans.end(),
            [](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
  return out;
}

}  // namespace penstock::sim
