#include "row_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "penstock/core/parallel.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "sweep.hpp"

namespace penstock::planners {

using core::BadInput;
using core::Bytes;

plan::Plan row_plan(const cost::Problem& problem, const Units& units, const EvenRow& row,
                    const std::vector<std::size_t>& ends) {
  const auto replicas = static_cast<std::size_t>(row.replicas);
  const std::size_t ranks = problem.cluster.size() / replicas;
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
    for (std::size_t r = 0; r < replicas; ++r) stage.devices.emplace_back(s % ranks * replicas + r);
    stage.micro_batch = row.micro_batch;
    stage.k = row.k;
    stage.recompute = row.recompute;
    if (s > 0) stage.after = {core::StageId(s - 1)};
  }
  score::derive_in_flight(problem, out);
  return out;
}

RunTimes::RunTimes(const cost::Problem& problem, const Units& units, std::int64_t micro_batch, int replicas,
                   bool recompute) {
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

std::vector<std::int64_t> sizes_for(const cost::Problem& problem, const SearchOptions& options,
                                    int replicas) {
  auto sizes = micro_batch_sizes(problem, options);
  std::erase_if(sizes, [&](std::int64_t size) { return size < replicas; });
  return sizes;
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

double judged_seconds(const cost::Problem& problem, const SearchOptions& options, const plan::Plan& plan) {
  if (by_evaluation(options)) return options.evaluate(plan).value();
  return score::estimate(problem, plan, plan::StageGraph(problem.graph, plan)).iteration.value();
}

Bytes fullest_need(const cost::Problem& problem, const plan::Plan& plan) {
  const auto rank = plan::rank_of_stage(plan);
  std::vector<Bytes> need(plan.stages.size());
  for (std::size_t s = 0; s < need.size(); ++s)
    need[static_cast<std::size_t>(rank[s])] +=
        plan::total(score::stage_memory(problem, plan, core::StageId(s)));
  return *std::max_element(need.begin(), need.end());
}

void fail_on(const cost::Problem& problem, const plan::Plan& plan) {
  const auto faults = score::faults(problem, plan);
  core::require(!faults.empty(), "a plan without faults is a plan");
  throw core::Infeasible("no plan fits: even with the least memory " + faults.front());
}

namespace {

struct Candidate {
  std::optional<plan::Plan> plan;  ///< nothing: not reached before the deadline
  std::optional<double> seconds;   ///< nothing: invalid, or not reached
};

Candidate candidate(const cost::Problem& problem, const SearchOptions& options, const Units& units,
                    const EvenRow& row, const RowCut& cut, core::StopToken stop) {
  Candidate out;
  try {
    stop.check();
    out.plan = row_plan(problem, units, row, cut(row));
    if (score::faults(problem, *out.plan).empty()) out.seconds = judged_seconds(problem, options, *out.plan);
  } catch (const core::LimitHit&) {
  }
  return out;
}

bool thriftier(const cost::Problem& problem, const Candidate& a, const Candidate& b) {
  return fullest_need(problem, *a.plan) < fullest_need(problem, *b.plan);
}

}  // namespace

SearchResult fastest(const cost::Problem& problem, const SearchOptions& options, const Units& units,
                     const std::vector<EvenRow>& rows, const RowCut& cut, const std::string& none,
                     core::StopToken stop) {
  if (rows.empty()) throw core::Infeasible(none);
  std::vector<Candidate> found(rows.size());
  core::parallel_for(
      rows.size(), [&](std::size_t i) { found[i] = candidate(problem, options, units, rows[i], cut, stop); });
  const bool complete =
      std::all_of(found.begin(), found.end(), [](const Candidate& c) { return c.plan.has_value(); });
  Candidate* best = &found.front();
  for (Candidate& c : found)
    if (c.seconds && (!best->seconds || *c.seconds < *best->seconds)) best = &c;
  if (!best->seconds && !complete) stop.give_up();
  if (!best->seconds)
    fail_on(problem,
            *std::min_element(found.begin(), found.end(), [&](const Candidate& a, const Candidate& b) {
               return thriftier(problem, a, b);
             })->plan);
  const double bottleneck =
      score::estimate(problem, *best->plan, plan::StageGraph(problem.graph, *best->plan)).bottleneck;
  return {std::move(*best->plan), bottleneck, rows.size(), {}, complete};
}

}  // namespace penstock::planners
