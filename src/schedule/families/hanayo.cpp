#include "families.hpp"
#include "penstock/schedule/policy.hpp"

namespace penstock::schedule {
namespace {

/// Passes of equal length without delays, which determine the order: with other times a greedy choice lets
/// waves collide.
constexpr PassCosts kEqualPasses{kUnitStep, kUnitStep, core::Picoseconds(0)};

/// Order among ready passes: a backward before a forward, and the deeper stage before the shallower.
bool before(const Action& a, const Action& b) {
  if (a.kind != b.kind) return a.kind == ActionKind::backward;
  return a.stage > b.stage;
}

}  // namespace

Schedule hanayo(const ScheduleShape& shape) {
  const int p = shape.ranks;
  demand(shape.chunks % 2 == 0, "an even number of stages per rank, two per wave");
  int inside = 0;  // micro-batches between their first forward and their last backward
  const auto policy = [&](const RankChoice& choice) -> std::optional<std::size_t> {
    std::optional<std::size_t> best;
    for (std::size_t k = 0; k < choice.ready.size(); ++k) {
      const Action& action = choice.ready[k];
      const bool enters = action.kind == ActionKind::forward && action.stage == 0;
      if (enters && inside == p) continue;
      if (!best || before(action, choice.ready[*best])) best = k;
    }
    if (best && choice.ready[*best].stage == 0)
      inside += choice.ready[*best].kind == ActionKind::forward ? 1 : -1;
    return best;
  };
  return schedule_by_policy({zigzag_placement(p, shape.chunks), p, shape.micro_batches, false, kEqualPasses},
                            policy);
}

}  // namespace penstock::schedule
