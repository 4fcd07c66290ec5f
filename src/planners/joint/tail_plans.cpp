#include "joint/tail_plans.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "joint/joined_branches.hpp"
#include "local/first_least.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/plan/colocated.hpp"
#include "tensor/tensor_groups.hpp"

namespace penstock::planners {
namespace {

/// Maximum micro-batches of a mini-batch: each replica of the part behind has a share of every one.
constexpr std::int64_t kMostInTurn = 16;
/// Maximum branch shares per iteration; each is a message, which takes simulation time.
constexpr std::int64_t kMostShares = std::int64_t{1} << 15;
/// Maximum number of branch groups.
constexpr std::size_t kMostSets = 64;
/// Branches times groups up to which any branch moves to any group; otherwise only those of the busiest
/// group.
constexpr std::size_t kMostDealings = 256;

/// Parameters of such a plan.
struct TailShape {
  std::vector<std::size_t> group;     ///< [branch]
  std::vector<std::int64_t> devices;  ///< [group]
  std::int64_t micro_batch = 1;       ///< of all stages
  int tensor = 1;                     ///< tensor-parallel degree of all stages, as replays require
  int zero = 0, zero_behind = 0;
  friend bool operator==(const TailShape&, const TailShape&) = default;
};

class TailPlans {
 public:
  TailPlans(const PlanSpace& space, const JointJudge& judge, JoinedBranches branches, core::StopToken stop)
      : space_(space), judge_(judge), branches_(std::move(branches)), stop_(stop) {
    const cost::Problem& problem = space.problem();
    const auto devices = static_cast<std::int64_t>(problem.cluster.size());
    const std::int64_t each = std::max<std::int64_t>(1, problem.training.mini_batch / devices);
    for (const auto& branch : branches_.side_by_side)
      seconds_.push_back(std::accumulate(
          branch.begin(), branch.end(), 0.0,
          [&](double sum, std::size_t unit) { return sum + space.unit_seconds(unit, each); }));
  }

  TailPlan best(PlanScore to_beat) {
    TailPlan out;
    try {
      for (std::vector<TailShape> shapes = first_shapes(); !shapes.empty();) {
        auto [found, at] = best_of(shapes, to_beat, out.judged);
        if (!found) break;
        to_beat = found->worth;
        out.plan = std::move(found);
        shapes = neighbours(shapes[at]);
      }
    } catch (const core::LimitHit&) {
      out.complete = false;
    }
    return out;
  }

 private:
  /// Assigns branches to groups, longest first, each to the group with the least work.
  std::vector<std::size_t> dealt(std::size_t groups) const {
    std::vector<std::size_t> order(seconds_.size()), out(seconds_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return seconds_[a] > seconds_[b]; });
    std::vector<double> load(groups);
    std::vector<char> used(groups);
    for (const std::size_t branch : order) {
      std::size_t g = 0;
      for (std::size_t other = 1; other < groups; ++other)
        if (std::pair(load[other], used[other]) < std::pair(load[g], used[g])) g = other;
      out[branch] = g;
      load[g] += seconds_[branch], used[g] = 1;
    }
    return out;
  }

  std::vector<double> loads(const TailShape& shape) const {
    std::vector<double> out(1 + std::ranges::max(shape.group));
    for (std::size_t b = 0; b < seconds_.size(); ++b) out[shape.group[b]] += seconds_[b];
    return out;
  }

  /// Assigns devices to groups in steps, the next always to the busiest; false if there are too few.
  bool share_devices(TailShape& shape) const {
    const auto load = loads(shape);
    const std::int64_t step = shape.tensor;
    auto left = static_cast<std::int64_t>(space_.problem().cluster.size()) -
                step * static_cast<std::int64_t>(load.size());
    if (left < 0 || left % step != 0) return false;
    shape.devices.assign(load.size(), step);
    for (; left > 0; left -= step) shape.devices[busiest(load, shape.devices)] += step;
    return true;
  }
  static std::size_t busiest(const std::vector<double>& load, const std::vector<std::int64_t>& devices) {
    std::size_t out = 0;
    for (std::size_t g = 1; g < load.size(); ++g)
      if (load[g] * static_cast<double>(devices[out]) > load[out] * static_cast<double>(devices[g])) out = g;
    return out;
  }

  std::vector<TailShape> first_shapes() const {
    const std::size_t most = std::min({seconds_.size(), space_.problem().cluster.size(), kMostSets});
    const int zero = std::min(1, space_.limits().zero);
    std::vector<TailShape> out;
    for (std::size_t groups = 2; groups <= most; ++groups)
      for (const int tensor : tensor_degrees(space_.problem().cluster, space_.options())) {
        TailShape shape{dealt(groups), {}, 1, tensor, zero, zero};
        if (!share_devices(shape)) continue;
        for (const std::int64_t micro_batch : micro_batches()) {
          shape.micro_batch = micro_batch;
          if (soon_judged(shape)) out.push_back(shape);
        }
      }
    return out;
  }

  bool soon_judged(const TailShape& shape) const {
    const cost::Problem& problem = space_.problem();
    return problem.training.mini_batch / shape.micro_batch *
               static_cast<std::int64_t>(problem.cluster.size() * shape.devices.size()) <=
           kMostShares;
  }

  std::vector<std::int64_t> micro_batches() const {
    if (space_.options().pipeline_micro_batch) return {*space_.options().pipeline_micro_batch};
    std::vector<std::int64_t> out;
    const std::int64_t mini_batch = space_.problem().training.mini_batch;
    for (std::int64_t in_turn = 1; in_turn <= kMostInTurn && mini_batch % in_turn == 0; in_turn *= 2)
      out.push_back(mini_batch / in_turn);
    return out;
  }

  std::vector<TailShape> neighbours(const TailShape& shape) const {
    std::vector<TailShape> out;
    const auto add = [&](TailShape next) {
      if (next != shape && soon_judged(next)) out.push_back(std::move(next));
    };
    const auto load = loads(shape);
    const std::size_t slow = busiest(load, shape.devices);
    for (std::size_t g = 0; g < load.size(); ++g) {
      if (g == slow) continue;
      TailShape next = shape;
      next.devices[g] -= shape.tensor, next.devices[slow] += shape.tensor;
      if (next.devices[g] > 0) add(next);
    }
    for (std::size_t b = 0; b < seconds_.size(); ++b) {
      if (shape.group[b] != slow && seconds_.size() * load.size() > kMostDealings) continue;
      for (std::size_t g = 0; g < load.size(); ++g) {
        TailShape next = shape;
        next.group[b] = g;
        if (std::ranges::count(next.group, shape.group[b]) > 0) {
          add(next);
        } else {  // its own group is now empty
          for (std::size_t& other : next.group) other -= other > shape.group[b];
        }
        if (share_devices(next)) add(next);
      }
    }
    const std::int64_t mini_batch = space_.problem().training.mini_batch;
    for (const std::int64_t size : {shape.micro_batch / 2, shape.micro_batch * 2}) {
      TailShape next = shape;
      next.micro_batch = size;
      if (size > 0 && mini_batch % size == 0) add(next);
    }
    for (int TailShape::*const setting : {&TailShape::zero, &TailShape::zero_behind}) {
      TailShape next = shape;
      next.*setting = shape.*setting > 0 ? 0 : std::min(1, space_.limits().zero);
      add(next);
    }
    return out;
  }

  PlanDraft draft_of(const TailShape& shape) const {
    PlanDraft out;
    out.rule = schedule::InFlight::hide_transfers;
    out.plan.training = space_.problem().training;
    out.plan.stages.resize(shape.devices.size());
    plan::Stage behind;
    std::size_t device = 0;
    for (std::size_t g = 0; g < shape.devices.size(); ++g) {
      plan::Stage& stage = out.plan.stages[g];
      for (std::int64_t d = 0; d < shape.devices[g]; ++d) stage.devices.emplace_back(device++);
      stage.micro_batch = shape.micro_batch;
      stage.tensor_parallel = shape.tensor;
      stage.zero = shape.devices[g] > shape.tensor ? shape.zero : 0;
      behind.devices.insert(behind.devices.end(), stage.devices.begin(), stage.devices.end());
    }
    for (std::size_t b = 0; b < shape.group.size(); ++b)
      add_units(branches_.side_by_side[b], out.plan.stages[shape.group[b]]);
    add_units(branches_.behind, behind);
    behind.micro_batch = shape.micro_batch;
    behind.tensor_parallel = shape.tensor;
    behind.zero = static_cast<std::int64_t>(device) > shape.tensor ? shape.zero_behind : 0;
    for (plan::Stage& part : plan::parts_of(behind, out.plan.stages))
      out.plan.stages.push_back(std::move(part));
    return out;
  }
  void add_units(const std::vector<std::size_t>& units, plan::Stage& stage) const {
    for (const std::size_t unit : units) {
      const auto& operators = space_.units().operators[unit];
      stage.operators.insert(stage.operators.end(), operators.begin(), operators.end());
    }
    std::ranges::sort(stage.operators);
  }

  /// Returns the best of these shapes, if it is better, and its index.
  std::pair<std::optional<JudgedDraft>, std::size_t> best_of(const std::vector<TailShape>& shapes,
                                                             const PlanScore& to_beat,
                                                             std::size_t& judged) const {
    std::vector<std::optional<PlanDraft>> drafts(shapes.size());
    std::vector<std::optional<PlanScore>> bounds(shapes.size());
    core::parallel_for(shapes.size(), [&](std::size_t i) {
      stop_.check();
      drafts[i] = space_.completed(draft_of(shapes[i]));
      if (drafts[i]) bounds[i] = judge_.at_best(drafts[i]->plan);
    });
    const auto found = first_least(bounds, to_beat, [&](std::size_t i, const PlanScore& least, bool ties) {
      stop_.check();
      return judge_.worth(drafts[i]->plan, ties ? judge_.just_above(least) : least);
    });
    judged +=
        static_cast<std::size_t>(std::ranges::count_if(drafts, [](const auto& d) { return d.has_value(); }));
    if (!found.index) return {};
    return {JudgedDraft{std::move(*drafts[*found.index]), found.value}, *found.index};
  }

  const PlanSpace& space_;
  const JointJudge& judge_;
  JoinedBranches branches_;
  core::StopToken stop_;
  std::vector<double> seconds_;  ///< [branch] for as many samples as there are per device
};

}  // namespace

TailPlan tail_plan(const PlanSpace& space, const JointJudge& judge, const PlanScore& to_beat,
                   core::StopToken stop) {
  if (space.options().micro_batch) return {};  // stages with different replica counts split one micro-batch
  auto branches = joined_branches(space.units());
  if (!branches) return {};
  return TailPlans(space, judge, std::move(*branches), stop).best(to_beat);
}

}  // namespace penstock::planners
