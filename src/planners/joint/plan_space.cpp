#include "joint/plan_space.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "penstock/core/digest.hpp"
#include "penstock/core/varint.hpp"
#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/layout/ties.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "tensor/mesh_sizes.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using plan::Plan;
using plan::Stage;

/// [stage] stages it reads from.
std::vector<std::set<std::size_t>> sources(const graph::OpGraph& graph, const Plan& plan) {
  std::vector<std::size_t> stage_of(graph.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const OpId op : plan.stages[s].operators) stage_of[op.index()] = s;
  std::vector<std::set<std::size_t>> out(plan.stages.size());
  for (const auto& [from, to] : graph.dag().edges()) {
    const auto a = stage_of[static_cast<std::size_t>(from)], b = stage_of[static_cast<std::size_t>(to)];
    if (a != b) out[b].insert(a);
  }
  return out;
}

/// Sorts stages, producers first, among ready ones the one listed first; false if stages wait for each other.
bool put_in_order(const graph::OpGraph& graph, Plan& plan) {
  const auto waits = sources(graph, plan);
  std::vector<Stage> out;
  std::vector<bool> done(waits.size());
  while (out.size() < waits.size()) {
    std::size_t next = 0;
    const auto ready = [&](std::size_t s) {
      return !done[s] && std::ranges::all_of(waits[s], [&](std::size_t before) { return done[before]; });
    };
    while (next < waits.size() && !ready(next)) ++next;
    if (next == waits.size()) return false;
    done[next] = true;
    out.push_back(std::move(plan.stages[next]));
  }
  plan.stages = std::move(out);
  return true;
}

/// Operators keep their partition when they move, unless their new stage divides nothing.
void keep_partitions(Plan& plan) {
  std::map<OpId, plan::Partition> all;
  for (Stage& stage : plan.stages) {
    all.insert(stage.partition.begin(), stage.partition.end());
    stage.partition.clear();
  }
  for (Stage& stage : plan.stages) {
    if (stage.tensor_parallel > 1 && !all.empty())
      for (const OpId op : stage.operators)
        if (const auto found = all.find(op); found != all.end()) stage.partition.insert(*found);
    if (stage.shares.size() != static_cast<std::size_t>(stage.tensor_parallel)) stage.shares.clear();
  }
}

/// Drops settings without effect, so that equal plans compare equal.
void drop_idle_settings(const graph::OpGraph& graph, Plan& plan) {
  const bool row = in_row(plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    Stage& stage = plan.stages[s];
    stage.after.clear();
    if (row && s > 0) stage.after = {core::StageId(s - 1)};
    if (stage.tensor_parallel == 1) stage.sequence_parallel = false;
    if (!stage.sequence_parallel) stage.whole_experts = false;
    if (stage.context_parallel == 1) stage.context_exchange = plan::ContextExchange::ring;
    const std::int64_t alike = stage.weight_replicas();
    if (!stage.has_copies()) stage.zero = 0;
    if (stage.zero == 0 || alike == stage.zero_over ||
        alike % std::max<std::int64_t>(1, stage.zero_over) != 0)
      stage.zero_over = 0;
    if (!by_count(plan)) stage.k = 1;
    if (stage.recompute && !plan::applies(graph, stage.operators, stage.recompute)) stage.recompute = {};
    stage.in_flight = 0;
  }
}

/// Limit for searched families, whose time is proportional to it: about a twentieth of a second.
constexpr std::int64_t kMostSearched = 2'000'000;
/// Maximum number of passes for other families.
constexpr std::int64_t kMostOrdered = 1'000'000;

bool quickly_ordered(const Plan& plan) {
  std::int64_t passes = 0;
  for (const Stage& stage : plan.stages) passes += plan.training.mini_batch / stage.micro_batch;
  if (passes > kMostOrdered) return false;
  const bool searched = schedule::by_cost(plan) || plan.schedule == "list_order";
  return !searched || passes * static_cast<std::int64_t>(plan.stages.size()) <= kMostSearched;
}

/// True if a stage set shares devices although its family (1f1b, gpipe) runs one stage per device, apart from
/// colocated stages.
bool shares_devices_in_vain(const Plan& plan) {
  if (plan::has_colocated(plan)) return shares_devices_in_vain(plan::PipelineOf(plan).plan);
  const auto rank = plan::rank_of_stage(plan);
  for (std::size_t s = 0; s < rank.size(); ++s)
    if (rank[s] != static_cast<std::int32_t>(s)) return schedule::per_stage(plan);
  return false;
}

}  // namespace

bool in_row(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return !stage.after.empty(); });
}

bool by_count(const Plan& plan) {
  return plan.schedule == "1f1b";
}

PlanSpace::PlanSpace(const cost::Problem& problem, const SearchOptions& options, UnitGraph units,
                     PlanLimits limits)
    : problem_(problem),
      options_(options),
      units_(std::move(units)),
      limits_(limits),
      unit_of_(problem.graph.size()),
      context_sizes_(planners::context_sizes(problem, options, limits.context_parallel)),
      expert_sizes_(planners::expert_sizes(problem, options, limits.expert_parallel)),
      row_of_layers_(std::holds_alternative<plan::LayerRow>(plan::layer_row(problem.graph))),
      form_(problem.cluster) {
  for (std::size_t u = 0; u < units_.operators.size(); ++u)
    for (const OpId op : units_.operators[u]) unit_of_[op.index()] = u;
}

double PlanSpace::unit_seconds(std::size_t unit, std::int64_t samples) const {
  return cost::compute_time(problem_, units_.operators[unit], problem_.cluster.types().front(), samples)
      .total()
      .value();
}

void PlanSpace::scale_micro_batch(Stage& stage, double scale) const {
  if (options_.micro_batch)
    stage.micro_batch = *options_.micro_batch * stage.replicas();
  else if (!options_.pipeline_micro_batch)
    stage.micro_batch = static_cast<std::int64_t>(static_cast<double>(stage.micro_batch) * scale);
}

bool PlanSpace::tidy(PlanDraft& draft) const {
  Plan& plan = draft.plan;
  for (const Stage& stage : plan.stages)
    if (stage.operators.empty() || stage.devices.empty() || stage.micro_batch < 1) return false;
  for (Stage& stage : plan.stages) std::ranges::sort(stage.operators);
  if (!put_in_order(problem_.graph, plan)) return false;
  keep_partitions(plan);
  drop_idle_settings(problem_.graph, plan);
  return true;
}

std::optional<PlanDraft> PlanSpace::runnable(PlanDraft draft, const Plan* before) const {
  if (!options_.runnable) return draft;
  auto plan = options_.runnable(draft.plan, before);
  if (!plan) return std::nullopt;
  return PlanDraft{std::move(*plan), draft.rule};
}

bool PlanSpace::pinned_well(const Plan& plan) const {
  return std::ranges::all_of(plan.stages, [&](const Stage& stage) {
    if (options_.micro_batch && stage.micro_batch != *options_.micro_batch * stage.replicas()) return false;
    if (options_.pipeline_micro_batch && stage.micro_batch != *options_.pipeline_micro_batch) return false;
    if (options_.k != 1 && by_count(plan) && stage.k != options_.k) return false;
    return stage.tensor_parallel <= options_.max_tensor_parallel.value_or(stage.tensor_parallel);
  });
}

/// Sets in-flight counts; returns false if the plan has no order or does not fit.
bool PlanSpace::counted(PlanDraft& draft) const {
  Plan& plan = draft.plan;
  try {
    if (by_count(plan))
      schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan), draft.rule);
    else
      score::derive_in_flight(problem_, plan);
    return score::fits_memory(problem_, plan);
  } catch (const core::BadInput&) {
    return false;
  }
}

bool PlanSpace::well_formed(const Plan& plan) const {
  return pinned_well(plan) && limits_.allow(plan) &&
         plan::structural_violations(problem_.graph, problem_.cluster, plan).empty() &&
         !shares_devices_in_vain(plan) && quickly_ordered(plan) &&
         layout::tie_violations(problem_.graph, plan).empty() &&
         layout::context_violations(problem_.graph, plan).empty() &&
         layout::expert_violations(problem_.graph, plan).empty();
}

std::optional<PlanDraft> PlanSpace::completed(PlanDraft draft) const {
  Plan& plan = draft.plan;
  if (!well_formed(plan)) return std::nullopt;
  if (counted(draft)) return draft;
  if (!by_count(plan) || draft.rule == schedule::InFlight::depth) return std::nullopt;
  draft.rule = schedule::InFlight::depth;
  for (Stage& stage : plan.stages) stage.in_flight = 0;
  if (!counted(draft)) return std::nullopt;
  return draft;
}

std::optional<OpId> PlanSpace::torn_off(const Plan& plan) const {
  std::vector<std::size_t> stage_of(problem_.graph.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const OpId op : plan.stages[s].operators) stage_of[op.index()] = s;
  for (const std::vector<OpId>& unit : units_.operators)
    for (const OpId op : unit)
      if (stage_of[op.index()] != stage_of[unit.front().index()]) return op;
  return std::nullopt;
}

PlanDraft PlanSpace::draft_of(const Plan& plan) const {
  PlanDraft out{plan};
  if (!by_count(plan)) return out;
  for (Stage& stage : out.plan.stages) stage.in_flight = 0;
  schedule::derive_in_flight(out.plan, plan::StageGraph(problem_.graph, plan));
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].in_flight > out.plan.stages[s].in_flight)
      out.rule = schedule::InFlight::hide_transfers;
  out.plan = plan;
  return out;
}

std::string PlanSpace::key(const PlanDraft& draft) const {
  const Plan& plan = draft.plan;
  std::string out = plan.schedule;
  const auto add = [&](auto... values) {
    (core::append_varint(out, static_cast<std::uint64_t>(values)), ...);
  };
  add(in_row(plan), by_count(plan) ? static_cast<int>(draft.rule) : 0);
  for (const Stage& stage : plan.stages) {
    const plan::Recomputation& again = stage.recompute;
    add(stage.micro_batch, stage.k, again.of, again.early, again.first, stage.tensor_parallel,
        stage.context_parallel, stage.context_exchange, stage.expert_parallel, stage.whole_experts,
        stage.zero, stage.zero_over, stage.sequence_parallel);
    add(stage.partition.size());
    for (const auto& [op, how] : stage.partition) add(op.index(), how);
    add(stage.shares.size());
    for (const std::int64_t share : stage.shares) add(share);
    add(stage.operators.size());
    for (const OpId op : stage.operators) add(op.index());
  }
  const auto form = form_.of(plan.stages);
  if (form) return core::digest(out + *form);
  const auto ranks = plan::rank_of_stage(plan);
  std::int32_t listed = 0;  // ranks whose devices are already in the key
  for (std::size_t s = 0; s < ranks.size(); ++s) {
    add(ranks[s]);
    if (ranks[s] < listed) continue;
    ++listed;
    add(plan.stages[s].devices.size());
    for (const core::DeviceId device : plan.stages[s].devices) add(device.index());
  }
  return core::digest(out);
}

}  // namespace penstock::planners
