#include "penstock/experiment/aim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "failed_search.hpp"
#include "penstock/cluster/price.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/repeat.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {
namespace {

using core::Seconds;
using core::show;

AimedPlan for_time(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                   core::StopToken stop) {
  AimedPlan out{problem.cluster, search(problem, cell, setting, stop), {}};
  out.reached = {SearchAim::time, *out.outcome.row.iteration_s};
  return out;
}

/// Uses one seed if nothing is drawn, because all seeds then give equal results.
PerturbedSeeds drawn(PerturbedSeeds seeds) {
  if (!seeds.perturbation->draws()) seeds.count = 1;
  return seeds;
}

AimResult reached_p95(const cost::Problem& problem, const plan::Plan& plan, const PerturbedSeeds& seeds,
                      sim::SimulationOptions simulation, core::StopToken stop) {
  simulation.perturbation = seeds.perturbation.get();
  simulation.seed = seeds.seed;
  std::vector<double> times;
  for (const core::Picoseconds time :
       sim::repeat(problem, score::scheduled(problem, plan), simulation, seeds.count, stop))
    times.push_back(to_seconds(time).value());
  const sim::ValueSpread spread = sim::spread(std::move(times));
  return {
      SearchAim::p95, spread.p95,
      fmt::format("95 % of iterations take at most {}, half of them {}; {}: {}", show(Seconds(spread.p95)),
                  show(Seconds(spread.median)),
                  seeds.count == 1 ? fmt::format("seed {}", seeds.seed)
                                   : fmt::format("seeds {} to {}", seeds.seed, seeds.seed + seeds.count - 1),
                  sim::in_words(*seeds.perturbation))};
}

/// Adds the measurements of an earlier part of the same search.
void add_search(const report::CellResult& earlier, report::CellResult& row) {
  row.search_s = row.search_s.value_or(0) + earlier.search_s.value_or(0);
  row.judging_s = row.judging_s.value_or(0) + earlier.judging_s.value_or(0);
  row.states = row.states.value_or(0) + earlier.states.value_or(0);
  if (earlier.search_memory_bytes)
    row.search_memory_bytes = std::max(row.search_memory_bytes.value_or(0), *earlier.search_memory_bytes);
}

/// Searches for p95. Other planners enumerate equal plans for both objectives. Walks of `joint` differ, and
/// one for the percentile may end behind one for time, which needs only one seed per evaluation.
AimedPlan for_p95(const cost::Problem& problem, const Cell& cell, const SearchSetting& by_time,
                  const PerturbedSeeds& seeds, core::StopToken stop) {
  SearchSetting setting = by_time;
  setting.robust = drawn(seeds);
  const auto searched = [&](const SearchSetting& by) {
    AimedPlan out{problem.cluster, search(problem, cell, by, stop), {}};
    out.reached =
        reached_p95(problem, *out.outcome.plan, *setting.robust, setting.simulation, stop.without_limits());
    return out;
  };
  AimedPlan robust = searched(setting);
  if (cell.planner.name != "joint" || setting.options.from) return robust;
  try {
    AimedPlan fastest = searched(by_time);
    AimedPlan &better = fastest.reached.value < robust.reached.value ? fastest : robust,
              &other = &better == &robust ? fastest : robust;
    add_search(other.outcome.row, better.outcome.row);
    if (other.outcome.row.status != "ok") better.outcome.row.status = other.outcome.row.status;
    return std::move(better);
  } catch (const core::LimitHit& limit) {
    report::CellResult& row = robust.outcome.row;
    if (row.status == "ok") row.status = fmt::format("{}: the best plan found until then", limit_word(limit));
    return robust;
  }
}

Seconds simulated(const cost::Problem& problem, const plan::Plan& plan, sim::SimulationOptions simulation,
                  core::StopToken stop) {
  simulation.stop = stop;
  return simulated_time(problem, simulation)(plan);
}

bool slower(const CellOutcome& outcome, Seconds most) {
  return Seconds(*outcome.row.iteration_s) > most;
}

/// Searches for the minimum memory from `fastest`, as far as limits allow. No move changes colocated stages:
/// if it has some, the search starts from the fastest plan without any, unless that takes too long.
CellOutcome thriftiest(const cost::Problem& problem, Cell cell, SearchSetting setting,
                       std::optional<CellOutcome> fastest, core::StopToken stop) {
  if (!fastest) return search(problem, cell, setting, stop);
  try {
    const bool colocated = plan::has_colocated(*fastest->plan);
    std::optional<CellOutcome> begin;
    if (colocated) {
      cell.planner.options["colocated"] = "never";
      SearchSetting by_time = setting;
      by_time.options.least_memory_within.reset();
      begin = search(problem, cell, by_time, stop);
      add_search(begin->row, fastest->row);
      if (slower(*begin, *setting.options.least_memory_within)) return std::move(*fastest);
    }
    setting.options.from = &*(begin ? begin : fastest)->plan;
    CellOutcome out = search(problem, cell, setting, stop);
    if (colocated && fastest->row.peak_memory_bytes < out.row.peak_memory_bytes) std::swap(out, *fastest);
    add_search(fastest->row, out.row);
    return out;
  } catch (const core::LimitHit& limit) {
    fastest->row.status = fmt::format("{}: the fastest plan found until then", limit_word(limit));
    return std::move(*fastest);
  }
}

AimedPlan for_memory(const cost::Problem& problem, const Cell& cell, SearchSetting setting, double slower,
                     core::StopToken stop) {
  std::optional<CellOutcome> fastest;
  if (!setting.options.from) fastest = search(problem, cell, setting, stop);
  const plan::Plan& first = fastest ? *fastest->plan : *setting.options.from;
  const Seconds least = simulated(problem, first, setting.simulation, stop.without_limits());
  const Seconds most = least * (1 + slower);
  setting.options.least_memory_within = most;
  const char* of = fastest ? "the fastest found" : "the plan given";
  AimedPlan out{problem.cluster, thriftiest(problem, cell, setting, std::move(fastest), stop), {}};
  const auto peak = *out.outcome.row.peak_memory_bytes;
  out.reached = {SearchAim::memory, static_cast<double>(peak),
                 fmt::format("{} on the fullest device, in at most {}: {:g} % above {} ({})",
                             show(core::Bytes(peak)), show(most), slower * 100, of, show(least)),
                 most.value()};
  return out;
}

/// Searches for cost on the first `count` devices.
AimedPlan for_cost_on(const cost::Problem& problem, Cell cell, const SearchSetting& setting, int count,
                      core::StopToken stop) {
  cell.cluster.devices = count;
  cluster::Cluster cluster = problem.cluster.first(count);
  const cost::Problem part{problem.graph, cluster, problem.costs, problem.training, problem.memory};
  CellOutcome outcome = search(part, cell, setting, stop);
  const Seconds iteration(*outcome.row.iteration_s);
  const double dollars = cluster::sample_price(cluster, iteration, problem.training.mini_batch);
  const std::string words = fmt::format("{} per million samples on {} of {} devices, which cost {} an hour",
                                        show_dollars(dollars * 1e6), count, problem.cluster.size(),
                                        show_dollars(cluster::hourly_price(cluster)));
  return {std::move(cluster), std::move(outcome), {SearchAim::cost, dollars, words}};
}

AimedPlan for_cost(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                   core::StopToken stop) {
  cluster::hourly_price(problem.cluster);  // throws before any search
  if (setting.options.from)
    return for_cost_on(problem, cell, setting, static_cast<int>(problem.cluster.size()), stop);
  std::optional<AimedPlan> best;
  std::exception_ptr error;  // error for the most devices
  report::CellResult took;
  std::string late;
  for (const int count : device_counts(problem.cluster.size())) {
    try {
      AimedPlan found = for_cost_on(problem, cell, setting, count, stop);
      add_search(found.outcome.row, took);
      if (found.outcome.row.status != "ok") late = found.outcome.row.status;
      if (!best || found.reached.value < best->reached.value) best = std::move(found);
    } catch (const core::LimitHit& limit) {
      late = fmt::format("{}: the cheapest plan found until then", limit_word(limit));
      if (!error) error = std::current_exception();
    } catch (const core::Infeasible&) {
      if (!error) error = std::current_exception();
    }
  }
  if (!best) std::rethrow_exception(error);
  report::CellResult& row = best->outcome.row;
  row.search_s = row.judging_s = {};
  row.states = 0;
  add_search(took, row);
  if (!late.empty()) row.status = late;
  return std::move(*best);
}

constexpr std::array<std::string_view, 4> kNames = {"time", "p95", "memory", "cost"};

}  // namespace

std::string_view name(SearchAim aim) {
  return kNames[static_cast<std::size_t>(aim)];
}

SearchAim aim(std::string_view given) {
  return static_cast<SearchAim>(core::index_of(given, kNames, "aim"));
}

const std::vector<std::string_view>& aim_names() {
  static const std::vector<std::string_view> names(kNames.begin(), kNames.end());
  return names;
}

AimedPlan search_for(const AimSetting& aim, const cost::Problem& problem, const Cell& cell,
                     SearchSetting setting, core::StopToken stop) {
  check_aim(aim.aim, cell.planner, setting.options.judge_by_estimate);
  if (setting.time_limit) stop = stop.within(*setting.time_limit);
  setting.time_limit.reset();
  if (aim.aim == SearchAim::memory) return for_memory(problem, cell, std::move(setting), aim.slower, stop);
  if (aim.aim == SearchAim::cost) return for_cost(problem, cell, setting, stop);
  if (aim.aim == SearchAim::time) return for_time(problem, cell, setting, stop);
  if (!aim.seeds) throw core::BadInput("the aim p95 needs a perturbation");
  return for_p95(problem, cell, setting, *aim.seeds, stop);
}

void check_aim(SearchAim aim, const planners::PlannerChoice& planner, bool by_estimate) {
  if (aim == SearchAim::memory && planner.name != "joint")
    throw core::BadInput("planner " + planner.name + " searches for time alone; joint searches for memory");
  if (by_estimate && (aim == SearchAim::p95 || aim == SearchAim::memory))
    throw core::BadInput(fmt::format("plans for {} are chosen by simulation, not by estimate", name(aim)));
}

std::vector<int> device_counts(std::size_t devices) {
  std::vector<int> out;
  for (std::size_t count = 1; count < devices; count *= 2) out.push_back(static_cast<int>(count));
  out.push_back(static_cast<int>(devices));
  return {out.rbegin(), out.rend()};
}

cost::Problem on_its_devices(const cost::Problem& problem, const AimedPlan& found) {
  return {problem.graph, found.cluster, problem.costs, problem.training, problem.memory};
}

std::string show_dollars(double dollars) {
  if (dollars >= 100) return fmt::format("${:.0f}", dollars);
  return dollars >= 1 ? fmt::format("${:.2f}", dollars) : fmt::format("${:.3g}", dollars);
}

}  // namespace penstock::experiment
