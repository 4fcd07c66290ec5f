#include <algorithm>
#include <utility>

#include "families.hpp"

namespace penstock::schedule {
namespace {

/// Passes with their slots, if forward and backward take one slot each.
using Slotted = std::vector<std::pair<int, Action>>;

/// f pipelines go down the ranks, each beginning p/f ranks after the one before; f pipelines go up in the
/// same way.
struct ChimeraPipelines {
  int p, f, micro_batches;  ///< micro_batches: per pipeline
  int per_unit() const { return p / (2 * f); }
  int rank(int pipeline, int stage) const {
    const int turned = pipeline < f ? stage : p - 1 - stage;
    return (pipeline % f * (p / f) + turned) % p;
  }
};

/// Adds one stage of one pipeline. Units of p/(2f) micro-batches follow each other every 2p slots. Within a
/// unit, micro-batch j starts in slot 2j, passes through the p stages and back. On a rank, pipelines of one
/// direction follow each other, and those of the other direction use the odd slots if these use the even
/// slots. So no slot of a rank is used twice.
void add_stage(const ChimeraPipelines& all, int pipeline, int stage, Slotted& out) {
  const int p = all.p, name = pipeline * p + stage;
  for (int m = 0; m < all.micro_batches; ++m) {
    const int start = m / all.per_unit() * 2 * p + m % all.per_unit() * 2;
    out.emplace_back(start + stage, forward(name, m));
    out.emplace_back(start + 2 * p - 1 - stage, backward(name, m));
  }
}

}  // namespace

Schedule chimera(const ScheduleShape& shape) {
  const int p = shape.ranks, f = std::max(1, shape.group);
  demand(shape.chunks == 1, "one stage per rank and pipeline");
  demand(p % 2 == 0 && p / 2 % f == 0, "an even number of ranks, and a group that divides half of it");
  demand(shape.micro_batches % (2 * f) == 0, "micro-batches in equal parts for all pipelines, two per group");
  const ChimeraPipelines all{p, f, shape.micro_batches / (2 * f)};
  Schedule schedule{std::vector<RankOrder>(static_cast<std::size_t>(p)), {}, 2 * f};
  std::vector<Slotted> slots(schedule.ranks.size());
  for (int pipeline = 0; pipeline < 2 * f; ++pipeline)
    for (int stage = 0; stage < p; ++stage) {
      schedule.rank_of_stage.push_back(all.rank(pipeline, stage));
      add_stage(all, pipeline, stage, slots[static_cast<std::size_t>(all.rank(pipeline, stage))]);
    }
  for (std::size_t r = 0; r < slots.size(); ++r) {
    std::sort(slots[r].begin(), slots[r].end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [slot, action] : slots[r]) schedule.ranks[r].push_back(action);
  }
  return schedule;
}

}  // namespace penstock::schedule
