#include "row_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "candidates.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "sweep.hpp"

namespace penstock::planners {

using core::BadInput;

plan::Plan row_plan(const cost::Problem& problem, const UnitGraph& units, const EvenRow& row,
                    const std::vector<std::size_t>& ends) {
  const auto devices = static_cast<std::size_t>(row.devices());
  const std::size_t ranks = problem.cluster.size() / devices;
  plan::Plan out;
  out.training = problem.training;
  out.schedule = row.schedule;
  std::size_t unit = 0;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    plan::Stage& stage = out.stages.emplace_back();
    for (; unit < ends[s]; ++unit)
      stage.operators.insert(stage.operators.end(), units.operators[unit].begin(),
                             units.operators[unit].end());
    std::sort(stage.operators.begin(), stage.operators.end());
    for (std::size_t d = 0; d < devices; ++d) stage.devices.emplace_back(s % ranks * devices + d);
    stage.micro_batch = row.micro_batch;
    stage.k = row.k;
    if (plan::applies(problem.graph, stage.operators, row.recompute)) stage.recompute = row.recompute;
    stage.tensor_parallel = row.tensor_parallel;
    stage.context_parallel = row.context_parallel;
    stage.expert_parallel = row.expert_parallel;
    stage.whole_experts = row.whole_experts;
    stage.sequence_parallel = row.sequence_parallel;
    stage.zero = row.zero;
    if (s > 0) stage.after = {core::StageId(s - 1)};
  }
  score::derive_in_flight(problem, out);
  return out;
}

RunTimes::RunTimes(const cost::Problem& problem, const UnitGraph& units, std::int64_t micro_batch,
                   int replicas, bool recompute) {
  const std::int64_t samples = cost::samples_per_device(micro_batch, replicas);
  for (const cluster::DeviceType& type : problem.cluster.types()) {
    auto& until = until_.emplace_back(1, 0.0);
    for (const auto& unit : units.operators) {
      const cost::OpTime time = cost::compute_time(problem, unit, type, samples);
      until.push_back(until.back() + (time.total() + (recompute ? time.forward : core::Seconds(0))).value());
    }
  }
  for (std::size_t d = 0; d < problem.cluster.size(); ++d) {
    if (d % static_cast<std::size_t>(replicas) == 0) types_.emplace_back();
    types_.back().push_back(problem.cluster.devices()[d].type);
  }
  for (auto& types : types_) {
    std::sort(types.begin(), types.end());
    types.erase(std::unique(types.begin(), types.end()), types.end());
  }
}

double RunTimes::operator()(std::size_t rank, std::size_t begin, std::size_t end) const {
  double slowest = 0;
  for (std::size_t type : types_[rank]) slowest = std::max(slowest, until_[type][end] - until_[type][begin]);
  return slowest;
}

std::vector<int> rank_sizes(const cost::Problem& problem, const SearchOptions& options) {
  const int devices = static_cast<int>(problem.cluster.size());
  std::vector<int> out;
  for (int size = 1; size <= devices; ++size)
    if (devices % size == 0 && (options.any_degree || std::has_single_bit(static_cast<unsigned>(size))))
      out.push_back(size);
  return out;
}

std::string no_even_row(const cost::Problem& problem, std::size_t units) {
  return fmt::format(
      "no pipeline of at most {} stages has equally many of {} devices in each, and a sample for each", units,
      problem.cluster.size());
}

void refuse_size_per_stage(const SearchOptions& options, const char* planner) {
  if (options.per_stage_micro_batch)
    throw BadInput(fmt::format("{} gives all stages one micro-batch size, none of their own", planner));
}

void refuse_k(const SearchOptions& options, const char* planner) {
  if (options.k != 1) throw BadInput(fmt::format("k belongs to 1f1b, {} has another schedule", planner));
}

namespace {

double estimated_seconds(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration.value();
}

/// Network for all of these rows.
score::AssumedNetwork network_of(const cost::Problem& problem, const std::vector<EvenRow>& rows) {
  std::set<int> sizes;
  for (const EvenRow& row : rows) sizes.insert({row.devices(), row.replicas});
  return score::assume_network(problem.cluster, problem.training, {sizes.begin(), sizes.end()});
}

bool recomputes(const plan::Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const plan::Stage& stage) { return bool(stage.recompute); });
}

/// The row, and variants that need less memory if allowed, in the order of trying. `tokens`: the model has
/// sequences to divide.
std::vector<EvenRow> thriftier(const EvenRow& row, bool tokens) {
  std::vector<EvenRow> out = {row};
  if (!row.thrift_at_need) return out;
  EvenRow next = row;
  if (row.tensor_parallel > 1 && tokens && !row.sequence_parallel) {
    next.sequence_parallel = true;
    out.push_back(next);
  }
  if (row.replicas * row.context_parallel > 1) {
    next.zero = 1;
    out.push_back(next);
  }
  for (const plan::Recomputation& again : {plan::kRecomputeCore, plan::kRecomputeLayers}) {
    next.recompute = again;
    out.push_back(next);
  }
  return out;
}

using Judge = std::function<double(const plan::Plan&)>;

PlanCandidate candidate(const cost::Problem& problem, const UnitGraph& units, const EvenRow& row,
                        const RowCut& cut, const Judge& judge, core::StopToken stop) {
  PlanCandidate out;
  try {
    stop.check();
    const auto ends = cut(row);
    for (const EvenRow& thrifty : thriftier(row, graph::tokens(problem.graph).has_value())) {
      plan::Plan plan = row_plan(problem, units, thrifty, ends);
      if (thrifty.recompute && !recomputes(plan)) continue;
      stop.check();
      const bool fitting = fits(problem, plan);
      out.plan = std::move(plan);
      if (!fitting) continue;
      out.seconds = judge(*out.plan);
      break;
    }
    out.late = false;
  } catch (const core::LimitHit&) {
  }
  return out;
}

}  // namespace

double judged_seconds(const cost::Problem& problem, const SearchOptions& options, const plan::Plan& plan) {
  return by_evaluation(options) ? options.evaluate(plan).value() : estimated_seconds(problem, plan);
}

SearchResult fastest(const cost::Problem& problem, const SearchOptions& options, const UnitGraph& units,
                     const std::vector<EvenRow>& rows, const RowCut& cut, const std::string& none,
                     core::StopToken stop, std::size_t most_evaluated) {
  if (rows.empty()) throw core::Infeasible(none);
  const bool evaluated = by_evaluation(options);
  std::optional<score::AssumedNetwork> network;
  if (!evaluated || rows.size() > most_evaluated) network = network_of(problem, rows);
  const Judge judge = [&](const plan::Plan& plan) {  // if all are evaluated, they begin as equals
    return network ? score::estimate(problem, plan, plan::StageGraph(problem.graph, plan), *network)
                         .iteration.value()
                   : 0;
  };
  std::vector<PlanCandidate> found(rows.size());
  core::parallel_for(rows.size(),
                     [&](std::size_t i) { found[i] = candidate(problem, units, rows[i], cut, judge, stop); });
  bool complete = in_time(found);
  if (evaluated) complete = evaluate_leading(found, options, most_evaluated, stop) && complete;
  plan::Plan& plan = *winner(problem, found, stop).plan;
  const double bottleneck = score::estimate(problem, plan).bottleneck;
  return {std::move(plan), bottleneck, rows.size(), {}, complete};
}

}  // namespace penstock::planners
