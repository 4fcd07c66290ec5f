#include "local/climb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "local/first_least.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/validate.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using plan::Plan;
using plan::Stage;

/// Sorts stages, producers first, among ready ones the one listed first; nothing if stages wait for each
/// other.
std::optional<std::vector<Stage>> in_order(const graph::OpGraph& graph, std::vector<Stage> stages) {
  std::vector<std::size_t> stage_of(graph.size());
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (const OpId op : stages[s].operators) stage_of[op.index()] = s;
  std::vector<std::set<std::size_t>> waits(stages.size());
  for (const auto& [from, to] : graph.dag().edges()) {
    const std::size_t a = stage_of[static_cast<std::size_t>(from)],
                      b = stage_of[static_cast<std::size_t>(to)];
    if (a != b) waits[b].insert(a);
  }
  std::vector<Stage> out;
  std::vector<bool> done(stages.size());
  while (out.size() < stages.size()) {
    std::size_t next = 0;
    const auto ready = [&](std::size_t s) {
      return !done[s] && std::ranges::all_of(waits[s], [&](std::size_t before) { return done[before]; });
    };
    while (next < stages.size() && !ready(next)) ++next;
    if (next == stages.size()) return std::nullopt;
    done[next] = true;
    out.push_back(std::move(stages[next]));
  }
  return out;
}

/// All changes of a plan listed in climb.hpp, valid or not.
class ClimbChanges {
 public:
  ClimbChanges(const SearchOptions& options, const UnitGraph& units, const Plan& plan)
      : units_(units), plan_(plan), pinned_(options.micro_batch || options.pipeline_micro_batch) {}

  std::vector<std::vector<Stage>> all() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const auto held = units_of(plan_.stages[s]);
      for (std::size_t t = 0; t < plan_.stages.size(); ++t) {
        if (t == s) continue;
        move_units(s, held, t);
        give_device(s, t);
        if (t < s) continue;
        merge(s, t);
        swap_devices(s, t);
      }
      split(s, held);
    }
    if (!pinned_)
      for (const bool larger : {true, false}) resize(larger);
    return std::move(out_);
  }

 private:
  using UnitList = std::vector<std::size_t>;

  /// Units of a stage in topological order.
  UnitList units_of(const Stage& stage) const {
    UnitList out;
    for (std::size_t u = 0; u < units_.operators.size(); ++u)
      if (std::ranges::binary_search(stage.operators, units_.operators[u].back())) out.push_back(u);
    return out;
  }

  static void take(const UnitGraph& units, std::span<const std::size_t> list, Stage& from, Stage& to) {
    for (const std::size_t u : list)
      for (const OpId op : units.operators[u]) {
        std::erase(from.operators, op);
        to.operators.push_back(op);
      }
    std::ranges::sort(to.operators);
  }

  void move_units(std::size_t s, const UnitList& held, std::size_t t) {
    for (std::size_t count = 1; count < held.size(); count *= 2)
      for (const bool front : {true, false}) {
        auto stages = plan_.stages;
        const std::span<const std::size_t> list(held);
        take(units_, front ? list.first(count) : list.last(count), stages[s], stages[t]);
        out_.push_back(std::move(stages));
      }
  }

  void give_device(std::size_t s, std::size_t t) {
    if (plan_.stages[s].devices.size() < 2) return;
    auto stages = plan_.stages;
    stages[t].devices.push_back(stages[s].devices.back());
    stages[s].devices.pop_back();
    out_.push_back(std::move(stages));
  }

  void merge(std::size_t s, std::size_t t) {
    auto stages = plan_.stages;
    Stage& whole = stages[s];
    for (const OpId op : stages[t].operators) whole.operators.push_back(op);
    std::ranges::sort(whole.operators);
    for (const core::DeviceId d : stages[t].devices) whole.devices.push_back(d);
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(t));
    out_.push_back(std::move(stages));
  }

  void swap_devices(std::size_t s, std::size_t t) {
    auto stages = plan_.stages;
    std::swap(stages[s].devices, stages[t].devices);
    out_.push_back(stages);
    if (plan_.stages[s].devices.size() == 1 && plan_.stages[t].devices.size() == 1) return;
    stages = plan_.stages;
    std::swap(stages[s].devices.back(), stages[t].devices.back());
    out_.push_back(std::move(stages));
  }

  void split(std::size_t s, const UnitList& held) {
    const std::size_t devices = plan_.stages[s].devices.size();
    if (devices < 2 || held.size() < 2) return;
    std::set<std::size_t> cuts;
    constexpr std::size_t kQuarters = 4;
    for (std::size_t quarter = 1; quarter < kQuarters; ++quarter)
      cuts.insert(std::clamp<std::size_t>(held.size() * quarter / kQuarters, 1, held.size() - 1));
    for (const std::size_t cut : cuts) {
      auto stages = plan_.stages;
      Stage first = stages[s];
      first.operators.clear();
      take(units_, std::span(held).first(cut), stages[s], first);
      const auto share = static_cast<std::ptrdiff_t>(
          std::clamp<std::size_t>((devices * cut + held.size() / 2) / held.size(), 1, devices - 1));
      auto& all = stages[s].devices;
      first.devices.assign(all.begin(), all.begin() + share);
      all.erase(all.begin(), all.begin() + share);
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(s), std::move(first));
      out_.push_back(std::move(stages));
    }
  }

  void resize(bool larger) {
    auto stages = plan_.stages;
    for (Stage& stage : stages) stage.micro_batch = larger ? stage.micro_batch * 2 : stage.micro_batch / 2;
    out_.push_back(std::move(stages));
  }

  const UnitGraph& units_;
  const Plan& plan_;
  bool pinned_;
  std::vector<std::vector<Stage>> out_;
};

}  // namespace

PlanClimb::PlanClimb(const cost::Problem& problem, const SearchOptions& options, Plan start,
                     schedule::InFlight rule, PlanJudge judge, core::StopToken stop)
    : problem_(problem),
      options_(options),
      rule_(rule),
      judge_(std::move(judge)),
      stop_(stop),
      units_(planning_units(problem.graph)),
      form_(problem.cluster),
      best_{std::move(start)},
      start_(key(best_.plan)) {}

void PlanClimb::go_on(std::uint64_t most) {
  try {
    if (best_.judged == 0) {
      best_.iteration = judge_(best_.plan, best_.iteration);
      best_.judged = 1;
      met_.insert(start_);
    }
    while (step(most)) {
    }
  } catch (const core::LimitHit&) {
    best_.complete = false;
  }
}

/// Takes the best of the first batch of changes that has an improvement. The next step begins with other
/// changes, so that all are tried.
bool PlanClimb::step(std::uint64_t most) {
  constexpr std::size_t kBatch = 64;
  const auto changes = ClimbChanges(options_, units_, best_.plan).all();
  for (std::size_t done = 0; done < changes.size() && best_.judged < most; done += kBatch) {
    stop_.check();
    const std::size_t count = std::min(kBatch, changes.size() - done);
    std::vector<std::optional<Plan>> plans(count);
    std::vector<std::string> keys(count);
    std::vector<std::optional<core::Seconds>> bounds(count);
    core::parallel_for(count, [&](std::size_t i) {
      plans[i] = completed(changes[(first_ + done + i) % changes.size()]);
      if (plans[i]) bounds[i] = evaluated_at_least(options_, *plans[i]);
      if (plans[i] && *bounds[i] >= best_.iteration) plans[i].reset();
      if (plans[i]) keys[i] = key(*plans[i]);
    });
    // A known plan was not better then, and is not better now. Processed in order, so that the result does
    // not depend on the number of threads.
    for (std::size_t i = 0; i < count; ++i) {
      if (plans[i] && !met_.insert(keys[i]).second) plans[i].reset();
      if (!plans[i]) bounds[i].reset();
      best_.judged += plans[i].has_value();
    }
    const auto fastest =
        first_least(bounds, best_.iteration, [&](std::size_t i, core::Seconds least, bool ties) {
          return judge_(*plans[i], ties ? least + kTick : least);
        });
    if (!fastest.index) continue;
    best_.plan = std::move(*plans[*fastest.index]);
    best_.iteration = fastest.value;
    first_ += done + *fastest.index;
    return true;
  }
  return false;
}

/// Equal for plans that differ only in the numbers of equal devices. Covers what climbing changes; everything
/// else comes from the start.
std::string PlanClimb::key(const Plan& plan) const {
  std::string out;
  for (const Stage& stage : plan.stages) {
    out += fmt::format("{}:", stage.micro_batch);
    for (const OpId op : stage.operators) out += fmt::format("{} ", op.index());
  }
  if (auto form = form_.of(plan.stages)) return out + *form;
  for (const Stage& stage : plan.stages)
    for (const core::DeviceId device : stage.devices) out += fmt::format("{},", device.index());
  return out;
}

/// Returns the plan with these stages, sorted, and in-flight counts by the rule; nothing if it is not valid.
std::optional<Plan> PlanClimb::completed(const std::vector<Stage>& changed) const {
  stop_.check();
  auto stages = in_order(problem_.graph, changed);
  if (!stages) return std::nullopt;
  Plan out = best_.plan;
  out.stages = std::move(*stages);
  for (Stage& stage : out.stages) {
    stage.in_flight = 0;
    if (options_.micro_batch && stage.micro_batch != *options_.micro_batch * stage.replicas())
      return std::nullopt;
  }
  if (!plan::structural_violations(problem_.graph, problem_.cluster, out).empty()) return std::nullopt;
  schedule::derive_in_flight(out, plan::StageGraph(problem_.graph, out), rule_);
  if (!score::fits_memory(problem_, out)) return std::nullopt;
  return out;
}

}  // namespace penstock::planners
