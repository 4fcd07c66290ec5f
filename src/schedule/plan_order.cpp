#include "penstock/schedule/plan_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "colocated_order.hpp"
#include "penstock/core/error.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"

namespace penstock::schedule {
namespace {

using plan::Plan;
using plan::Stage;

bool is_file(const std::string& schedule) {
  return schedule.ends_with(".csv");
}

/// Micro-batches of one mini-batch in which a replica takes part.
std::int32_t per_mini_batch(const Plan& plan, const Stage& stage) {
  const std::int64_t turns = plan::asynchronous(plan) ? stage.replicas() : 1;
  return static_cast<std::int32_t>(plan.training.mini_batch / stage.micro_batch / turns);
}

RankOrder fill_drain(std::int32_t stage, std::int32_t count) {
  RankOrder out;
  for (std::int32_t m = 0; m < count; ++m) out.push_back(forward(stage, m));
  for (std::int32_t m = 0; m < count; ++m) out.push_back(backward(stage, m));
  return out;
}

/// Row with `held` warm-up forwards, then runs of k backwards and k forwards until the forwards are used up.
/// With fewer than k in flight, runs are as long as that allows.
RankOrder k_forward_k_backward(std::int32_t stage, std::int32_t count, std::int32_t held, std::int32_t k) {
  RankOrder out;
  std::int32_t forwards = 0, backwards = 0;
  while (forwards < std::min(held, count)) out.push_back(forward(stage, forwards++));
  while (backwards < count) {
    for (std::int32_t run = 0; run < k && backwards < forwards; ++run)
      out.push_back(backward(stage, backwards++));
    for (std::int32_t run = 0; run < k && forwards < std::min(count, backwards + held); ++run)
      out.push_back(forward(stage, forwards++));
  }
  return out;
}

/// Throws if an action that plans cannot express would be dropped and the meaning would change.
void check_passes(const Plan& plan, const Schedule& schedule) {
  for (const RankOrder& row : schedule.ranks)
    for (const Action& action : row) {
      if (action.kind == ActionKind::evict || action.kind == ActionKind::load)
        throw core::BadInput(plan.schedule +
                             " parks activations on other devices, a plan keeps them on its own");
      if (action.kind == ActionKind::recompute &&
          !plan.stages[static_cast<std::size_t>(action.stage)].recompute)
        throw core::BadInput(
            fmt::format("{} recomputes stage {}, the plan does not", plan.schedule, action.stage));
    }
}

std::int32_t uniform_micro_batches(const Plan& plan) {
  for (const Stage& stage : plan.stages)
    if (stage.micro_batch != plan.stages.front().micro_batch)
      throw core::BadInput(plan.schedule + " needs the same micro-batch size in all stages");
  return static_cast<std::int32_t>(plan.training.mini_batch / plan.stages.front().micro_batch);
}

Schedule stage_rows(const Plan& plan) {
  demand_own_devices(plan);
  if (plan::asynchronous(plan)) uniform_micro_batches(plan);
  Schedule schedule{{}, plan::rank_of_stage(plan)};
  for (std::int32_t s = 0; s < schedule.stages(); ++s) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    const auto count = static_cast<std::int32_t>(per_mini_batch(plan, stage) * mini_batches(plan));
    const auto held =
        static_cast<std::int32_t>(std::max<std::int64_t>(1, stage.in_flight / stage.micro_batch));
    schedule.ranks.push_back(plan.schedule == "gpipe" ? fill_drain(s, count)
                                                      : k_forward_k_backward(s, count, held, stage.k));
  }
  return schedule;
}

void check_placement(const Plan& plan, const Schedule& schedule, const std::vector<std::int32_t>& rank) {
  if (schedule.halves > 0)
    throw core::BadInput(plan.schedule + " cuts micro-batches in halves, a stage has one size");
  if (schedule.copies > 1)
    throw core::BadInput(plan.schedule + " holds several copies of the model, a plan has one");
  if (schedule.rank_of_stage.size() != rank.size())
    throw core::BadInput(
        fmt::format("{} has {} stages, the plan {}", plan.schedule, schedule.stages(), rank.size()));
  for (std::size_t s = 0; s < rank.size(); ++s)
    if (schedule.rank_of_stage[s] != rank[s])
      throw core::BadInput(
          fmt::format("{} runs stage {} on the devices of rank {}, the plan on those of rank {}",
                      plan.schedule, s, schedule.rank_of_stage[s], rank[s]));
  check_passes(plan, schedule);
}

void refuse_k(const Plan& plan) {
  for (const Stage& stage : plan.stages)
    if (stage.k != 1)
      throw core::BadInput(plan.schedule + " runs passes in an order of its own; k of a stage must be 1");
}

Schedule family_rows(const Plan& plan, const PassCosts& costs, const ScheduleSource& source) {
  refuse_k(plan);
  const auto rank = plan::rank_of_stage(plan);
  const int ranks = *std::max_element(rank.begin(), rank.end()) + 1;
  const int chunks = static_cast<int>(rank.size()) / ranks;
  ScheduleShape shape;
  shape.ranks = ranks;
  shape.chunks = chunks;
  shape.micro_batches = uniform_micro_batches(plan);
  shape.costs = costs;
  Schedule schedule = source ? *source(plan.schedule, shape) : make_schedule(plan.schedule, shape);
  check_placement(plan, schedule, rank);
  return schedule;
}

Schedule file_rows(const Plan& plan) {
  refuse_k(plan);
  Schedule schedule = load_schedule(plan.schedule);
  if (const auto violations = schedule_violations(schedule, uniform_micro_batches(plan)); !violations.empty())
    throw core::BadInput(plan.schedule + ": " + violations.front());
  check_placement(plan, schedule, plan::rank_of_stage(plan));
  return schedule;
}

Action of_stage(ActionKind kind, std::int32_t stage) {
  return {kind, stage, -1};
}

bool releases(const Action& part) {
  return part.kind == ActionKind::backward || part.kind == ActionKind::weight_gradient;
}

/// True for computations, which a plan's rows keep of a schedule. Messages, updates and recomputation follow
/// from the plan.
bool computes(const Action& action) {
  return releases(action) || action.kind == ActionKind::forward ||
         action.kind == ActionKind::input_gradient || action.kind == ActionKind::overlapped ||
         action.kind == ActionKind::barrier;
}

/// Rewrites a row with its REDUCE_GRADs and STEPs.
class Updates {
 public:
  explicit Updates(const Plan& plan)
      : plan_(plan),
        asynchronous_(plan::asynchronous(plan)),
        waiting_(plan.stages.size()),
        placed_(plan.stages.size()) {
    for (const Stage& stage : plan.stages) count_.push_back(per_mini_batch(plan, stage));
    left_ = count_;
  }

  RankOrder added(const RankOrder& row) {
    out_.clear();
    out_.reserve(row.size() + 2 * count_.size());
    for (const Action& action : row) {
      if (!computes(action)) continue;
      if (action.kind == ActionKind::forward && due(action)) step(action.stage);
      recompute(action);
      out_.push_back(action);
      for (const Action& part : parts(action))
        if (releases(part)) count(part.stage);
    }
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(waiting_.size()); ++s)
      while (waiting(s) > 0) step(s);
    return std::move(out_);
  }

 private:
  /// Adds R before the pass that needs the discarded tensors. Split backward passes are refused for
  /// recomputed layers: their weight gradients would keep all layers, although each should make room for the
  /// next. Weight gradients read nothing of attention's core.
  void recompute(const Action& action) {
    for (const Action& part : parts(action)) {
      if (part.kind != ActionKind::backward && part.kind != ActionKind::input_gradient) continue;
      const plan::Recomputation& again = stage(part.stage).recompute;
      if (part.kind == ActionKind::input_gradient && again.of == plan::Recomputation::Of::layers)
        throw core::BadInput(fmt::format("stage {} recomputes layer by layer, {} splits its backward passes",
                                         part.stage, plan_.schedule));
      if (again) out_.push_back({ActionKind::recompute, part.stage, part.micro_batch});
    }
  }

  std::int32_t& waiting(std::int32_t s) { return waiting_[static_cast<std::size_t>(s)]; }
  const Stage& stage(std::int32_t s) const { return plan_.stages[static_cast<std::size_t>(s)]; }

  void step(std::int32_t s) {
    out_.push_back(of_stage(ActionKind::step, s));
    --waiting(s);
    ++placed_[static_cast<std::size_t>(s)];
  }
  /// True at the first pass of a mini-batch if the update of the mini-batch before the last has not been
  /// placed.
  bool due(const Action& action) {
    if (!asynchronous_ || waiting(action.stage) == 0) return false;
    const std::int32_t count = count_[static_cast<std::size_t>(action.stage)];
    return action.micro_batch % count == 0 &&
           action.micro_batch / count >= placed_[static_cast<std::size_t>(action.stage)] + 2;
  }
  void count(std::int32_t s) {
    if (--left_[static_cast<std::size_t>(s)] > 0) return;
    left_[static_cast<std::size_t>(s)] = count_[static_cast<std::size_t>(s)];
    ++waiting(s);
    if (plan::reduces_gradients(stage(s)))
      out_.push_back(of_stage(ActionKind::reduce_gradient, s));
    else if (asynchronous_)
      step(s);
  }

  const Plan& plan_;
  bool asynchronous_;
  std::vector<std::int32_t> count_;    ///< [stage] micro-batches of a mini-batch
  std::vector<std::int32_t> left_;     ///< [stage] backward passes until the end of the mini-batch
  std::vector<std::int32_t> waiting_;  ///< [stage] updates whose STEP is not placed yet
  std::vector<std::int32_t> placed_;   ///< [stage] steps so far
  RankOrder out_;
};

/// First violation of one stage's passes, in the order of the row; empty if there is none.
std::string first_violation(const RankOrder& row, std::int32_t s, std::int32_t count, std::int64_t most) {
  std::vector<bool> begun(static_cast<std::size_t>(count)), ended(begun);
  std::int64_t held = 0;
  for (const Action& action : row)
    for (const Action& part : parts(action)) {
      if (part.stage != s || !(part.kind == ActionKind::forward || releases(part))) continue;
      const auto m = static_cast<std::size_t>(part.micro_batch);
      if (part.micro_batch < 0 || part.micro_batch >= count) return "there is no such micro-batch";
      auto& seen = part.kind == ActionKind::forward ? begun : ended;
      if (seen[m]) return "a pass is doubled";
      if (part.kind != ActionKind::forward && !begun[m])
        return "a backward pass comes before its forward pass";
      seen[m] = true;
      held += part.kind == ActionKind::forward ? 1 : -1;
      if (held > most) return fmt::format("more than {} micro-batches are in flight", most);
    }
  return std::find(ended.begin(), ended.end(), false) == ended.end() ? "" : "passes are missing";
}

/// [stage] maximum number of micro-batches between pass `begin` and a pass that `ends` them.
template <class Ends>
std::vector<std::int32_t> most_between(ActionKind begin, const Ends& ends, const Schedule& order) {
  std::vector<std::int32_t> held(order.rank_of_stage.size()), most(held);
  for (const RankOrder& row : order.ranks)
    for (const Action& action : row)
      for (const Action& part : parts(action)) {
        if (part.stage < 0) continue;
        const auto s = static_cast<std::size_t>(part.stage);
        held[s] += part.kind == begin ? 1 : ends(part) ? -1 : 0;
        most[s] = std::max(most[s], held[s]);
      }
  return most;
}

}  // namespace

void demand_own_devices(const Plan& plan) {
  const auto rank = plan::rank_of_stage(plan);
  for (std::size_t s = 0; s < rank.size(); ++s)
    if (rank[s] != static_cast<std::int32_t>(s))
      throw core::BadInput(fmt::format(
          "{} runs one stage on a device; stage {} shares its devices with another", plan.schedule, s));
}

SteadyPart steady_part(const Plan& plan) {
  if (!plan::asynchronous(plan)) return {0, 1};
  // A micro-batch passes every stage twice. The run has six times that many mini-batches, at least eight, by what
  // a replica takes of each; the second half is steady.
  std::int64_t least = plan.training.mini_batch;  // micro-batches of a replica in a mini-batch
  for (const Stage& stage : plan.stages)
    least = std::min(least, plan.training.mini_batch / stage.micro_batch / stage.replicas());
  const auto passes = static_cast<std::int64_t>(plan.stages.size()) * 12;
  const std::int64_t end = 8 + passes / std::max<std::int64_t>(1, least) / 2 * 2;
  return {end / 2, end};
}

std::int64_t mini_batches(const Plan& plan) {
  if (!plan::asynchronous(plan)) return 1;
  // A stage has begun all that it may hold when the steady part ends. As many mini-batches follow, so that no
  // forward pass is missing there.
  std::int64_t held = 0;
  for (const Stage& stage : plan.stages) held = std::max(held, stage.in_flight * stage.replicas());
  return steady_part(plan).end + (held + plan.training.mini_batch - 1) / plan.training.mini_batch;
}

Schedule with_updates(const Plan& plan, Schedule computations) {
  Updates updates(plan);
  for (RankOrder& row : computations.ranks) row = updates.added(row);
  return computations;
}

namespace {

/// Rows of a plan without colocated stages.
Schedule pipeline_rows(const Plan& plan, const PassCosts& costs, const ScheduleSource& source) {
  if (per_stage(plan)) return stage_rows(plan);
  return is_file(plan.schedule) ? file_rows(plan) : family_rows(plan, costs, source);
}

}  // namespace

Schedule plan_order(const Plan& plan, const PassCosts& costs, const ScheduleSource& source) {
  if (!plan::has_colocated(plan)) return with_updates(plan, pipeline_rows(plan, costs, source));
  const plan::PipelineOf pipeline(plan);
  return with_updates(plan, with_colocated(plan, pipeline, pipeline_rows(pipeline.plan, costs, source)));
}

bool per_stage(const Plan& plan) {
  return plan.schedule == "1f1b" || plan.schedule == "gpipe" || plan::asynchronous(plan);
}

bool by_cost(const Plan& plan) {
  return std::any_of(families().begin(), families().end(),
                     [&](const Family& family) { return family.searched && family.name == plan.schedule; });
}

std::vector<std::string> order_violations(const Plan& plan, const Schedule& order) {
  std::vector<std::string> violations;
  for (std::int32_t s = 0; s < order.stages(); ++s) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    const auto count = static_cast<std::int32_t>(per_mini_batch(plan, stage) * mini_batches(plan));
    const RankOrder& row =
        order.ranks[static_cast<std::size_t>(order.rank_of_stage[static_cast<std::size_t>(s)])];
    const std::string violation = first_violation(row, s, count, stage.in_flight / stage.micro_batch);
    if (!violation.empty()) violations.push_back(fmt::format("stage {}: {}", s, violation));
  }
  return violations;
}

std::vector<std::int32_t> most_held(const Schedule& order) {
  return most_between(ActionKind::forward, releases, order);
}
std::vector<std::int32_t> most_recomputed(const Schedule& order) {
  return most_between(ActionKind::recompute, releases, order);
}
std::vector<std::int32_t> most_deferred(const Schedule& order) {
  const auto ends = [](const Action& part) { return part.kind == ActionKind::weight_gradient; };
  return most_between(ActionKind::input_gradient, ends, order);
}

}  // namespace penstock::schedule
