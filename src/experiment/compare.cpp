#include "penstock/experiment/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "failed_search.hpp"
#include "penstock/cluster/price.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/ranking.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/sim/perturbation.hpp"

namespace penstock::experiment {
namespace {

using planners::PlannerChoice;
using Families = std::set<score::PlanFamily>;

/// Result of one planner.
struct PlannerResult {
  CellOutcome outcome;
  std::optional<AimResult> reached{};  ///< none for the objective time
};

/// Adds memory to the fastest plan of a planner that supports no other objective.
PlannerResult with_its_memory(CellOutcome outcome) {
  PlannerResult out{std::move(outcome), {}};
  if (const auto peak = out.outcome.row.peak_memory_bytes)
    out.reached = {SearchAim::memory, static_cast<double>(*peak),
                   core::show(core::Bytes(*peak)) + " on the fullest device, of a plan found for its time"};
  return out;
}

PlannerResult aimed(const AimSetting& aim, const cost::Problem& problem, const Cell& cell,
                    const SearchSetting& setting, core::StopToken stop) {
  if (aim.aim == SearchAim::time) return {try_search(problem, cell, setting, stop)};
  if (aim.aim == SearchAim::memory && cell.planner.name != "joint")
    return with_its_memory(try_search(problem, cell, setting, stop));
  try {
    AimedPlan found = search_for(aim, problem, cell, setting, stop);
    return {std::move(found.outcome), std::move(found.reached)};
  } catch (const core::BadInput&) {
    throw;
  } catch (const core::Error&) {
    auto row = describe(problem, cell);
    row.status = no_plan_status();
    return {{row, {}, {}, {}}};
  }
}

/// Runs one planner; its failure does not affect the rows of others.
PlannerResult try_planner(const AimSetting& aim, const cost::Problem& problem, const Cell& cell,
                          const SearchSetting& setting, core::StopToken stop) {
  try {
    return aimed(aim, problem, cell, setting, stop);
  } catch (const core::BadInput& e) {
    auto row = describe(problem, cell);
    row.status = std::string("bad input: ") + e.what();
    return {{row, {}, {}, {}}};
  }
}

/// Checks conditions that would fail every planner.
void check_possible(const AimSetting& aim, const cost::Problem& problem, const SearchSetting& setting) {
  check_aim(aim.aim, {"joint"}, setting.options.judge_by_estimate);
  if (aim.aim == SearchAim::cost) cluster::hourly_price(problem.cluster);
  if (aim.aim == SearchAim::p95 && !aim.seeds) throw core::BadInput("the aim p95 needs a perturbation");
}

/// Seconds of the fastest plan found, also on the way to one of less memory. If a plan has a flush, only
/// plans with a flush count: others train with older weights, and no plan with a flush may be as fast.
class FastestTime {
 public:
  void add(const AimSetting& aim, const PlannerResult& found) {
    if (!found.outcome.plan) return;
    double& least = plan::asynchronous(*found.outcome.plan) ? without_flush_ : with_flush_;
    least = std::min(least, found.outcome.row.iteration_s.value_or(least));
    if (found.reached && found.reached->most_s > 0)
      least = std::min(least, found.reached->most_s / (1 + aim.slower));
  }
  bool flushes() const { return with_flush_ < kNone; }
  double seconds() const { return flushes() ? with_flush_ : without_flush_; }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double with_flush_ = kNone, without_flush_ = kNone;
};

/// Stores the maximum time of a plan in every row.
void limit_times(double most_s, PlannerComparison& found) {
  for (auto& reached : found.reached)
    if (reached) reached->most_s = most_s;
}

/// Indices of the rows, best first; rows without a plan last, ties in their order.
std::vector<std::size_t> by_aim(const PlannerComparison& found) {
  std::vector<std::size_t> out(found.rows.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  const auto worth = [&](std::size_t r) {
    const auto& reached = found.reached[r];
    if (!reached) return std::pair(2, 0.0);
    return std::pair(too_slow(found.rows[r], *reached) ? 1 : 0, reached->value);
  };
  std::ranges::stable_sort(out, {}, worth);
  return out;
}

void rank(const AimSetting& aim, const FastestTime& fastest, PlannerComparison& found) {
  if (aim.aim == SearchAim::time) {
    found.rows = report::ranked(std::move(found.rows));
    found.reached.clear();
    return;
  }
  if (aim.aim == SearchAim::memory) limit_times(fastest.seconds() * (1 + aim.slower), found);
  std::vector<report::CellResult> rows;
  std::vector<std::optional<AimResult>> reached;
  for (const std::size_t r : by_aim(found)) {
    rows.push_back(std::move(found.rows[r]));
    reached.push_back(std::move(found.reached[r]));
  }
  found.rows = std::move(rows);
  found.reached = std::move(reached);
}

/// Line that explains the ranking.
std::string aim_line(const AimSetting& aim, const cost::Problem& problem, const FastestTime& fastest) {
  if (aim.aim == SearchAim::p95)
    return fmt::format("ranked by p95: 95 % of iterations take at most so long; {} from {} on: {}\n",
                       aim.seeds->count == 1 ? "one seed" : fmt::format("{} seeds", aim.seeds->count),
                       aim.seeds->seed, sim::in_words(*aim.seeds->perturbation));
  if (aim.aim == SearchAim::memory)
    return fmt::format(
        "ranked by memory of the fullest device, of plans that take at most {:g} % longer than the fastest "
        "found{} ({})\n",
        aim.slower * 100, fastest.flushes() ? " with a flush" : "",
        core::show(core::Seconds(fastest.seconds())));
  if (aim.aim == SearchAim::cost)
    return fmt::format(
        "ranked by dollars per million samples; all devices cost {} an hour, some may stay unused\n",
        show_dollars(cluster::hourly_price(problem.cluster)));
  return "";
}

/// Lower bound for all plans of a family, in words.
std::string family_bound_line(const cost::Problem& problem, score::PlanFamily family,
                              score::ReductionTiming reduction, core::StopToken stop) {
  try {
    const auto best = score::problem_bounds(problem, reduction, family, until_user_stops(stop)).best();
    return fmt::format("no plan with a flush takes less than {} {} ({})\n", core::show(best.time),
                       name(family), name(best.kind));
  } catch (const core::Infeasible& e) {
    return fmt::format("no plan fits {}: {}\n", name(family), e.what());
  }
}

/// Lower bounds by what plans divide; empty if the user does not wait for them.
std::string bound_lines(const cost::Problem& problem, const sim::SimulationOptions& simulation,
                        const Families& families, core::StopToken stop) {
  std::string out;
  try {
    for (const score::PlanFamily family : families)
      out += family_bound_line(problem, family, reduction(simulation), stop);
  } catch (const core::InterruptedError&) {
    return "";
  }
  return out;
}

/// Problem and objective, in words.
std::string heading_of(const cost::Problem& problem, const Cell& cell, const std::string& aim) {
  const auto row = describe(problem, cell);
  std::string what = fmt::format("{}, {} devices of {}, mini-batch {}\n", row.model, row.devices, row.cluster,
                                 row.mini_batch);
  if (row.costs != "analytic") what += "costs: " + row.costs + "\n";
  return what + aim + "\n";
}

}  // namespace

bool too_slow(const report::CellResult& row, const AimResult& reached) {
  constexpr double kRounding = 1e-9;
  return reached.aim == SearchAim::memory && row.iteration_s.value_or(0) > reached.most_s * (1 + kRounding);
}

std::vector<PlannerChoice> planner_choices(const std::string& text, const std::string& what) {
  std::vector<PlannerChoice> out;
  const auto add = [&](const std::string& planner) {
    const PlannerChoice choice = planners::planner_choice(planner);
    if (std::find(out.begin(), out.end(), choice) != out.end())
      throw core::BadInput(what + ": " + planner + " is given twice");
    out.push_back(choice);
  };
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');)
    if (item != "all") {
      add(item);
    } else {
      for (const auto& info : planners::catalogue())
        if (!info.states) add(info.name);
      for (const std::string& added : planners::added_planners()) add(added);
    }
  if (out.empty()) throw core::BadInput(what + ": expected all, or names with commas between");
  return out;
}

PlannerComparison compare(const cost::Problem& problem, Cell cell, const std::vector<PlannerChoice>& planners,
                          const SearchSetting& setting, core::StopToken stop, const CompareProgress& progress,
                          const AimSetting& aim) {
  check_possible(aim, problem, setting);
  PlannerComparison out{.rows = {}, .heading = {}, .aim = aim.aim};
  Families families{score::PlanFamily::replicated};  // families of the plans found
  FastestTime fastest;
  try {
    for (const PlannerChoice& planner : planners) {
      cell.planner = planner;
      if (progress.begins) progress.begins(planner);
      PlannerResult found = try_planner(aim, problem, cell, setting, stop);
      if (found.outcome.plan) families.insert(score::family_of(*found.outcome.plan));
      fastest.add(aim, found);
      if (found.outcome.plan) out.plans.emplace(found.outcome.row.planner, std::move(*found.outcome.plan));
      out.rows.push_back(std::move(found.outcome.row));
      out.reached.push_back(std::move(found.reached));
      if (progress.ends) progress.ends(out.rows.back(), out.rows.size(), planners.size());
    }
  } catch (const core::InterruptedError&) {
    out.interrupted = true;
  }
  const std::string line = aim_line(aim, problem, fastest);
  rank(aim, fastest, out);
  out.heading = heading_of(problem, cell, line);
  out.bounds = bound_lines(problem, setting.simulation, families, stop);
  out.interrupted = out.interrupted || stop.interrupted();
  return out;
}

core::ExitCode exit_code(const PlannerComparison& comparison) {
  if (comparison.interrupted) return core::ExitCode::interrupted;
  const auto any = [&](auto&& holds) { return std::ranges::any_of(comparison.rows, holds); };
  const auto is = [](const char* kind) {
    return [kind](const report::CellResult& row) { return row.status.starts_with(kind); };
  };
  if (any([](const auto& row) { return row.iteration_s.has_value(); })) return core::ExitCode::done;
  if (any(is("timed out")) || any(is("memory full")) || any(is("limit"))) return core::ExitCode::limit;
  return any(is("bad input")) && !any(is("infeasible")) ? core::ExitCode::bad_input
                                                        : core::ExitCode::infeasible;
}

}  // namespace penstock::experiment
