#include "penstock/experiment/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "failed_search.hpp"
#include "penstock/core/peak_memory.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/repeat.hpp"
#include "penstock/sim/simulate.hpp"
#include "ready_search.hpp"
#include "without_bound.hpp"

namespace penstock::experiment {
namespace {

constexpr std::string_view kOutOfMemory = "out of memory: ";

void check(const cost::Problem& problem, const plan::Plan& plan) {
  const auto violations = score::violations(problem, plan);
  if (!violations.empty())
    throw core::Error(core::ExitCode::internal,
                      "planner " + plan.planner + " made an invalid plan: " + violations.front());
}

/// Runs the plan with another schedule; the planner's estimate no longer applies.
void run_in_order(const cost::Problem& problem, plan::Plan& plan, const std::string& schedule,
                  report::CellResult& row) {
  reschedule(plan, schedule);
  row.estimate_s.reset();
  try {
    score::derive_in_flight(problem, plan);
  } catch (const core::BadInput& e) {
    throw core::Infeasible(e.what());
  }
  const auto violations = score::violations(problem, plan);
  if (!violations.empty()) throw core::Infeasible(violations.front());
}

/// Lower bound; none with a perturbation, under which devices may be faster than their type.
std::optional<double> lower_bound(const cost::Problem& problem, const plan::Plan& plan,
                                  const sim::SimulationOptions& simulation, core::StopToken stop) {
  if (simulation.perturbation) return std::nullopt;
  return score::bound_for(problem, plan, reduction(simulation), until_user_stops(stop)).time.value();
}

void describe_plan(const plan::Strategy& strategy, report::CellResult& row) {
  row.strategy = plan::in_words(strategy);
  row.pipeline_parallel = strategy.pipeline_parallel;
  row.data_parallel = strategy.data_parallel;
  row.tensor_parallel = plan::tensor_parallel(strategy);
  row.zero = strategy.zero;
  row.recompute = strategy.recomputing;
  row.micro_batch = strategy.micro_batch;
  row.stages = strategy.stages;
  row.depth = strategy.depth;
  row.schedule = strategy.schedule;
}

void add_utilisation(const graph::OpGraph& graph, const cluster::Cluster& cluster, double samples_per_second,
                     report::CellResult& row) {
  const auto used = cost::utilisation(graph, cluster, samples_per_second);
  if (used.flops_per_device > 0) row.tflops_per_device = used.flops_per_device * 1e-12;
  if (used.mfu > 0) row.mfu = used.mfu;
}

/// Fill, without padding, of the samples whose time an iteration takes (trace::Trace::iteration).
sim::SampleContent timed_samples(const cost::Problem& problem, const sim::SimulationOptions& simulation,
                                 schedule::SteadyPart timed) {
  const sim::SequenceLengths& lengths = *simulation.perturbation->lengths;
  sim::SampleContent out;
  for (std::int64_t k = timed.begin; k < timed.end; ++k)
    for (const sim::SampleContent& sample :
         sim::fillings(lengths, sim::room(lengths, problem.graph), problem.training.mini_batch,
                       simulation.seed, k, simulation.stop))
      out += sample.unpadded();
  return out;
}

/// Adds rates by the tokens that sequences have.
void add_filled_rates(const cost::Problem& problem, const sim::SimulationOptions& simulation,
                      schedule::SteadyPart timed, const trace::Summary& summary, report::CellResult& row) {
  const std::int64_t samples = problem.training.mini_batch * (timed.end - timed.begin);
  const layout::SampleFill mean = timed_samples(problem, simulation, timed).per_sample(samples);
  const double share = mean.tokens / static_cast<double>(layout::sequence(problem.graph));
  if (const auto tokens = graph::tokens(problem.graph))
    row.tokens_per_s = summary.samples_per_second * static_cast<double>(*tokens) * share;
  add_utilisation(layout::shortened(problem.graph, mean), problem.cluster, summary.samples_per_second, row);
}

void add_rates(const cost::Problem& problem, const sim::SimulationOptions& simulation, const plan::Plan& plan,
               const trace::Summary& summary, report::CellResult& row) {
  row.samples_per_s = summary.samples_per_second;
  if (simulation.perturbation && simulation.perturbation->lengths)
    return add_filled_rates(problem, simulation, schedule::steady_part(plan), summary, row);
  if (const auto tokens = graph::tokens(problem.graph))
    row.tokens_per_s = summary.samples_per_second * static_cast<double>(*tokens);
  add_utilisation(problem.graph, problem.cluster, summary.samples_per_second, row);
}

/// Everything except lower bounds.
CellOutcome simulated(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                      report::CellResult row, const sim::SimulationOptions& simulation, bool keep_trace) {
  const plan::Plan& plan = scheduled.plan;
  CellOutcome out;
  out.row = std::move(row);
  out.plan = plan;
  if (keep_trace) out.trace = sim::simulate(problem, scheduled, simulation);
  out.summary =
      out.trace ? trace::summarise(*out.trace) : sim::simulate_summary(problem, scheduled, simulation);
  check_length(to_picoseconds(out.summary->iteration));
  describe_plan(plan::strategy(plan, scheduled.stages.depth()), out.row);
  if (!out.row.estimate_s)
    out.row.estimate_s = score::estimate(problem, plan, scheduled.stages).iteration.value();
  out.row.iteration_s = out.summary->iteration.value();
  out.row.estimate_error = *out.row.estimate_s / *out.row.iteration_s - 1;
  add_rates(problem, simulation, plan, *out.summary, out.row);
  out.row.bubble = out.summary->bubble;
  out.row.peak_memory_bytes = out.summary->peak_memory.value();
  out.row.status = "ok";
  return out;
}

/// Adds the lower bound. Throws SearchEnded or InterruptedError when the user stops it.
void add_bound(const cost::Problem& problem, const sim::SimulationOptions& simulation, core::StopToken stop,
               CellOutcome& out) {
  out.row.lower_bound_s = lower_bound(problem, *out.plan, simulation, stop);
  constexpr double kPicosecond = 1e-12;  // smaller bounds are meaningless
  if (out.row.lower_bound_s.value_or(0) >= kPicosecond)
    out.row.gap = *out.row.iteration_s / *out.row.lower_bound_s - 1;
}

/// Adds bound and further plans, which may take longer than the user wants to wait. Returns true if the user
/// ended them.
bool add_bounds(const cost::Problem& problem, const Cell& cell, const sim::SimulationOptions& simulation,
                std::vector<plan::Plan> others, core::StopToken stop, CellOutcome& out) {
  if (stop.ended()) return true;
  try {
    add_bound(problem, simulation, stop, out);
    for (plan::Plan& other : others) {
      other.model = cell.model;
      other.cluster = cell.cluster;
      other.planner = out.row.planner;
      CellOutcome next =
          simulated(problem, score::scheduled(problem, other), describe(problem, cell), simulation, false);
      add_bound(problem, simulation, stop, next);
      out.others.push_back(std::move(next));
    }
  } catch (const core::SearchEnded&) {
    return true;
  }
  return false;
}

/// Bound on plans of the framework, unless devices may be faster than their type. Nothing if the user ended it.
std::optional<RunnableBound> bound_of_framework(const cost::Problem& problem, const SearchSetting& setting,
                                                core::StopToken stop) {
  if (setting.perturbation != nullptr || setting.simulation.perturbation) return {};
  try {
    return runnable_bound(setting.runnable_by, problem, setting.bound_runnable, until_user_stops(stop));
  } catch (const core::SearchEnded&) {
    return {};
  }
}

/// The setting with an iteration time that is good enough (SearchSetting::gap).
SearchSetting with_enough(const SearchSetting& setting, const std::optional<RunnableBound>& bound) {
  SearchSetting out = setting;
  if (setting.gap && bound && bound->best) out.options.enough = bound->best->time * (1 + *setting.gap);
  return out;
}

/// Like search(); fills `row` as far as possible even if it throws.
CellOutcome search_into(report::CellResult& row, const cost::Problem& problem, const Cell& cell,
                        const SearchSetting& setting, core::StopToken stop) {
  if (setting.time_limit) stop = stop.within(*setting.time_limit);
  std::optional<core::MemoryWatch> watch;
  if (setting.memory_limit) stop = stop.until_full(watch.emplace(*setting.memory_limit).full());
  row = describe(problem, cell);
  std::vector<plan::Plan> others;
  std::optional<RunnableBound> bound;
  if (setting.gap) bound = bound_of_framework(problem, setting, stop);
  const SearchSetting aimed = with_enough(setting, bound);
  auto found = [&] {
    const ReadySearch ready(problem, cell, aimed, stop);
    const auto& planner = planners::planner(cell.planner.name);
    auto answer = ready.measured([&] { return planner.plan(ready.problem, ready.options, stop); }, row);
    answer.plan.model = cell.model;
    answer.plan.cluster = cell.cluster;
    answer.plan.planner = row.planner;
    check(problem, answer.plan);
    if (!stop.ended()) ready.check_times(answer.plan);
    if (cell.planner.name != "joint" && ready.enter_framework(answer.plan)) row.estimate_s.reset();
    others = ready.others(answer.plan, setting.top - 1);
    return answer;
  }();
  core::return_free_memory();  // frees the search's caches, so that the trace has room
  if (!cell.schedule.empty()) run_in_order(problem, found.plan, cell.schedule, row);
  sim::SimulationOptions options = setting.simulation;
  if (setting.perturbation) options.perturbation = setting.perturbation;
  CellOutcome out =
      simulated(problem, score::scheduled(problem, std::move(found.plan)), row, options, setting.keep_trace);
  if (setting.options.progress)
    setting.options.progress(fmt::format("found {:.1f} samples/s ({}), computing what no plan beats",
                                         *out.row.samples_per_s, *out.row.strategy));
  const bool ended = add_bounds(problem, cell, options, std::move(others), stop, out);
  if (!bound && !ended) bound = bound_of_framework(problem, setting, stop);
  out.runnable = std::move(bound);
  if (!found.complete)
    out.row.status = fmt::format("{}: the best plan found until then", limit_word(stop));
  else if (ended)
    out.row.status = "interrupted: the search was over, its lower bound is left out";
  return out;
}

/// Sets the reason in the row if there is no plan; other errors pass through.
CellOutcome try_search_into(report::CellResult& row, const cost::Problem& problem, const Cell& cell,
                            const SearchSetting& setting, core::StopToken stop) {
  try {
    return search_into(row, problem, cell, setting, stop);
  } catch (const core::Error&) {
    row.status = no_plan_status();
  }
  return {row, {}, {}, {}};
}

}  // namespace

void check_length(core::Picoseconds iteration) {
  if (iteration.value() > 0) return;
  throw core::Error(
      core::ExitCode::limit,
      "an iteration takes less than a picosecond, the simulator's unit: the costs are next to nothing");
}

std::function<core::Seconds(const plan::Plan&)> simulated_time(const cost::Problem& problem,
                                                               const sim::SimulationOptions& simulation) {
  return [&problem, simulation](const plan::Plan& plan) {
    return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan), simulation));
  };
}

std::function<core::Seconds(const plan::Plan&, core::Seconds)> simulated_time_against(
    const cost::Problem& problem, const sim::SimulationOptions& simulation) {
  return [&problem, simulation](const plan::Plan& plan, core::Seconds to_beat) {
    return to_seconds(sim::simulate_time_against(problem, score::scheduled(problem, plan),
                                                 to_picoseconds(to_beat), simulation));
  };
}

void reschedule(plan::Plan& plan, const std::string& schedule) {
  plan.schedule = schedule;
  for (plan::Stage& stage : plan.stages) {
    stage.in_flight = 0;
    if (schedule != "1f1b") stage.k = 1;
  }
}

score::BoundCheck until_user_stops(core::StopToken stop) {
  return [stop] {
    if (stop.interrupted()) throw core::InterruptedError();
    if (stop.ended()) throw core::SearchEnded();
  };
}

score::ReductionTiming reduction(const sim::SimulationOptions& simulation) {
  const bool apart = !simulation.collective.travels();
  return apart ? score::ReductionTiming::closed_form : score::ReductionTiming::free;
}

report::CellResult describe(const Cell& cell) {
  report::CellResult row;
  row.model = model_name(cell.model);
  row.cluster = scenario_name(cell);
  row.devices = cell.cluster.devices;
  row.planner = planner_name(cell);
  row.mini_batch = cell.training.mini_batch;
  row.setting = setting_text(cell);
  return row;
}

report::CellResult describe(const cost::Problem& problem, const Cell& cell) {
  report::CellResult row = describe(cell);
  row.costs = cost::source_of(problem.costs, problem.cluster);
  return row;
}

report::CellResult describe(const cost::Problem& problem, const plan::Plan& plan) {
  return describe(problem, Cell{plan.model, plan.cluster, {plan.planner}, plan.training, {}});
}

CellOutcome evaluated_without_bound(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                    report::CellResult row, const sim::SimulationOptions& simulation) {
  return simulated(problem, scheduled, std::move(row), simulation, false);
}

CellOutcome evaluate(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                     report::CellResult row, const sim::SimulationOptions& simulation, bool keep_trace) {
  CellOutcome out = simulated(problem, scheduled, std::move(row), simulation, keep_trace);
  add_bound(problem, simulation, simulation.stop, out);
  return out;
}

CellOutcome search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                   core::StopToken stop) {
  report::CellResult row;
  try {
    return search_into(row, problem, cell, setting, stop);
  } catch (const core::Infeasible& fault) {
    const auto bound =
        runnable_bound(setting.runnable_by, problem, setting.bound_runnable, until_user_stops(stop));
    const std::string proof = bound ? no_fit_in_words(*bound) : "";
    if (proof.empty()) throw;
    throw core::Infeasible(fmt::format("{}\n{}", fault.what(), proof));
  }
}

CellOutcome try_search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                       core::StopToken stop) {
  report::CellResult row;
  return try_search_into(row, problem, cell, setting, stop);
}

namespace {

/// Calls `work` with the cell's problem and search setting.
template <class Work>
auto with_problem(const Spec& spec, const Cell& cell, const cost::CostModel& costs, Work&& work) {
  const graph::OpGraph& graph = spec.inputs->model(cell.model);
  const cluster::Cluster cluster = cost::measured_by(costs, spec.inputs->cluster(cell.cluster));
  const cost::Problem problem{graph, cluster, costs, cell.training, spec.memory};
  SearchSetting setting{{}, cell.simulation, spec.time_limit};
  setting.options.micro_batch = cell.micro_batch;
  setting.options.pipeline_micro_batch = cell.pipeline_micro_batch;
  setting.options.per_stage_micro_batch = cell.search.per_stage_micro_batch;
  setting.options.any_degree = cell.search.any_degree;
  setting.options.k = cell.search.k;
  setting.runnable_by = cell.runnable_by;
  setting.options.judge_by_estimate = !spec.choose_by_simulation;
  std::optional<sim::Perturbation> perturbation;
  if (cell.perturbation) perturbation = spec.inputs->perturbation(*cell.perturbation, cell.cluster);
  setting.perturbation = perturbation ? &*perturbation : nullptr;
  setting.memory_limit = spec.memory_limit;
  setting.alone = spec.searches_one_by_one();
  return work(problem, setting);
}

/// Like run_cell(); fills `row` as far as possible even if it throws.
CellOutcome run_cell_into(report::CellResult& row, const Spec& spec, const Cell& cell,
                          const cost::CostModel& costs, core::StopToken stop, const Known& known = {}) {
  return with_problem(spec, cell, costs, [&](const cost::Problem& problem, SearchSetting& setting) {
    setting.options.known = known;
    return try_search_into(row, problem, cell, setting, stop);
  });
}

}  // namespace

CellOutcome run_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop) {
  report::CellResult row;
  return run_cell_into(row, spec, cell, costs, stop);
}

planners::JointQuestions joint_questions(const Spec& spec, const Cell& cell, const cost::CostModel& costs) {
  return with_problem(spec, cell, costs, [&](const cost::Problem& problem, const SearchSetting& setting) {
    const ReadySearch ready(problem, cell, setting, {});
    return planners::joint_questions(ready.problem, ready.options);
  });
}

planners::SearchResult joint_answer(const Spec& spec, const Cell& cell,
                                    const planners::PlannerChoice& question, const cost::CostModel& costs,
                                    core::StopToken stop, const Known& known) {
  return with_problem(spec, cell, costs, [&](const cost::Problem& problem, SearchSetting& setting) {
    setting.options.known = known;
    const ReadySearch ready(problem, cell, setting, stop);
    auto found = planners::joint_answer(ready.problem, ready.options, question, stop);
    found.plan.model = cell.model;
    found.plan.cluster = cell.cluster;
    found.plan.planner = planners::written(question);
    return found;
  });
}

CellOutcome try_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop,
                     const Known& known) {
  report::CellResult row = describe(cell);
  const auto failed = [&](std::string status, std::exception_ptr error) {
    row.status = std::move(status);
    return CellOutcome{row, {}, {}, {}, std::move(error)};
  };
  try {
    return run_cell_into(row, spec, cell, costs, stop, known);
  } catch (const core::InterruptedError&) {
    throw;
  } catch (const core::BadInput& e) {
    return failed(std::string("bad input: ") + e.what(), std::current_exception());
  } catch (const std::bad_alloc&) {
    return failed(std::string(kOutOfMemory) + "the cell needs more memory than the machine has", {});
  } catch (const std::exception& e) {
    return failed(std::string("internal: ") + e.what(), std::current_exception());
  }
}

bool lasting(const report::CellResult& row) {
  if (planners::is_added(row.planner.substr(0, row.planner.find(':'))))
    return false;  // the planner may have changed
  return row.status == "ok" || row.status.starts_with("infeasible: ") || row.status.starts_with("limit: ");
}

bool interrupted(const report::CellResult& row) {
  return row.status.starts_with("interrupted: ");
}

bool out_of_memory(const report::CellResult& row) {
  return row.status.starts_with(kOutOfMemory);
}

report::CellResult without_plan(const Cell& cell, std::string status) {
  report::CellResult row = describe(cell);
  row.status = std::move(status);
  return row;
}

}  // namespace penstock::experiment
