#include "joint/row_shape.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/schedule/schedule.hpp"

namespace penstock::planners {
namespace {

/// [unit] seconds for one sample.
std::vector<double> unit_weights(const PlanSpace& space, std::int64_t samples) {
  std::vector<double> out;
  for (std::size_t u = 0; u < space.units().operators.size(); ++u)
    out.push_back(space.unit_seconds(u, samples));
  return out;
}

std::int64_t samples_of(const plan::Stage& stage) {
  return plan::samples_per_device(stage.micro_batch, stage.replicas());
}

/// End (one past the last unit) of each stage, none empty: where the sum of units is nearest to the sum of
/// loads so far.
std::vector<std::size_t> row_ends(const std::vector<double>& units, const std::vector<double>& loads) {
  std::vector<double> until(units.size() + 1, 0);
  std::partial_sum(units.begin(), units.end(), until.begin() + 1);
  const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
  std::vector<std::size_t> out;
  double goal = 0;
  std::size_t end = 0;
  for (std::size_t s = 0; s < loads.size(); ++s) {
    goal += all > 0 ? loads[s] / all * until.back() : 0;
    const std::size_t most = units.size() - (loads.size() - 1 - s);
    ++end;
    while (end < most && std::abs(until[end + 1] - goal) < std::abs(until[end] - goal)) ++end;
    if (s + 1 == loads.size()) end = units.size();
    out.push_back(end);
  }
  return out;
}

}  // namespace

std::vector<RankShape> rank_shapes(const MoveContext& sight) {
  std::vector<RankShape> out;
  for (const auto& rank : sight.ranks) {
    RankShape& shape = out.emplace_back(RankShape{sight.draft.plan.stages[rank.front()]});
    shape.like.operators.clear();
    shape.like.after.clear();
    for (const std::size_t s : rank)
      for (const std::size_t u : sight.units[s])
        shape.load += sight.space.unit_seconds(u, samples_of(shape.like));
  }
  return out;
}

std::vector<RankShape> even_ranks(const cluster::Cluster& cluster, int size, const plan::Stage& like) {
  std::vector<RankShape> out;
  for (std::size_t d = 0; d < cluster.size(); ++d) {
    if (d % static_cast<std::size_t>(size) == 0) out.push_back({like, 1});
    out.back().like.devices.emplace_back(d);
  }
  return out;
}

std::vector<RankShape> joined(const std::vector<RankShape>& ranks) {
  std::vector<RankShape> out;
  if (ranks.size() % 2 != 0) return out;
  for (std::size_t r = 0; r < ranks.size(); r += 2) {
    RankShape both = ranks[r];
    const auto& more = ranks[r + 1].like.devices;
    both.like.devices.insert(both.like.devices.end(), more.begin(), more.end());
    both.load += ranks[r + 1].load;
    out.push_back(std::move(both));
  }
  return out;
}

std::vector<RankShape> halved(const std::vector<RankShape>& ranks) {
  std::vector<RankShape> out;
  for (const RankShape& rank : ranks) {
    if (rank.like.replicas() % 2 != 0) return {};
    RankShape first = rank, second = rank;
    const auto half = static_cast<std::ptrdiff_t>(rank.like.devices.size() / 2);
    first.like.devices.erase(first.like.devices.begin() + half, first.like.devices.end());
    second.like.devices.erase(second.like.devices.begin(), second.like.devices.begin() + half);
    first.load = second.load = rank.load / 2;
    out.push_back(std::move(first));
    out.push_back(std::move(second));
  }
  return out;
}

void cut_row(const PlanSpace& space, const std::vector<RankShape>& ranks, std::size_t chunks,
             StageAssignment deal, plan::Plan& plan) {
  plan.stages.clear();
  const std::size_t count = ranks.size() * chunks;
  if (count == 0 || count > space.units().operators.size()) return;
  const int p = static_cast<int>(ranks.size()), v = static_cast<int>(chunks);
  const auto rank_of =
      deal == StageAssignment::loop ? schedule::loop_placement(p, v) : schedule::zigzag_placement(p, v);
  std::vector<double> loads;
  for (const std::int32_t r : rank_of) loads.push_back(ranks[static_cast<std::size_t>(r)].load);
  const auto until = row_ends(unit_weights(space, samples_of(ranks.front().like)), loads);
  std::size_t unit = 0;
  for (std::size_t s = 0; s < count; ++s) {
    plan::Stage& stage = plan.stages.emplace_back(ranks[static_cast<std::size_t>(rank_of[s])].like);
    for (; unit < until[s]; ++unit)
      for (const core::OpId op : space.units().operators[unit]) stage.operators.push_back(op);
  }
}

}  // namespace penstock::planners
