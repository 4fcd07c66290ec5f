#include "penstock/experiment/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "assumptions_json.hpp"
#include "device_ranges.hpp"
#include "explain_report.hpp"
#include "fault_report.hpp"
#include "memory_report.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/coverage.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/memory_verdict.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/planners/untried_groups.hpp"
#include "penstock/report/difference.hpp"
#include "penstock/report/table.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/schedule/list_order.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/plan_pipeline.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/out_of_memory.hpp"
#include "top_report.hpp"
#include "traffic_report.hpp"
#include "waterfall_report.hpp"
#include "what_if_report.hpp"

namespace penstock::experiment {
namespace {

using core::show;
using plan::MemoryKind;
using report::Align;

/// Degrees other than tensor parallelism, which the list of devices shows: ", CP2".
std::string other_dimensions(const plan::Stage& stage) {
  std::string out;
  for (const plan::StatedDim& stated : plan::kStatedDims)
    if (stated.dim != plan::MeshDim::tensor && stage.*stated.size > 1)
      out += fmt::format(", {}{}", stated.letters, stage.*stated.size);
  return out;
}

/// Sharing with other stages or among its devices: ", colocated, by tokens, ZeRO 1".
std::string shared_by(const plan::Stage& stage) {
  return std::string(stage.part ? ", colocated" : "") + (stage.sequence_parallel ? ", by tokens" : "") +
         other_dimensions(stage) + (stage.zero == 0 ? "" : fmt::format(", ZeRO {}", stage.zero)) +
         (stage.zero_over == 0 ? "" : fmt::format(" over {}", stage.zero_over));
}

/// Types of a stage's devices where the cluster has several: ", h100".
std::string types_of(const cluster::Cluster& cluster, const plan::Stage& stage) {
  if (cluster.types().size() < 2) return "";
  std::set<std::string> names;
  for (const core::DeviceId device : stage.devices) names.insert(cluster.type(device).name);
  return fmt::format(", {}", fmt::join(names, " and "));
}

/// Returns a text such as "0 1 | 2 3, ZeRO 1": replicas of two devices each, which share optimizer state.
/// Many devices are written as ranges.
std::string device_list(const cluster::Cluster& cluster, const plan::Stage& stage) {
  constexpr std::size_t kMostNamed = 16;
  std::string out;
  if (stage.devices.size() > kMostNamed) {
    out = device_ranges(stage.devices);
    if (stage.tensor_parallel > 1) out += fmt::format(", groups of {}", stage.tensor_parallel);
    return out + shared_by(stage) + types_of(cluster, stage);
  }
  for (std::size_t i = 0; i < stage.devices.size(); ++i) {
    const bool next_group =
        stage.tensor_parallel > 1 && i % static_cast<std::size_t>(stage.tensor_parallel) == 0;
    out += fmt::format("{}{}", i == 0 ? "" : next_group ? " | " : " ", stage.devices[i].index());
  }
  // Devices of one group would look like replicas.
  if (stage.tensor_parallel > 1 && stage.replicas() == 1) out += fmt::format(", TP{}", stage.tensor_parallel);
  return out + shared_by(stage) + types_of(cluster, stage);
}

std::string operator_span(const graph::OpGraph& graph, const plan::Stage& stage) {
  const std::string& first = graph.op(stage.operators.front()).name;
  const std::string& last = graph.op(stage.operators.back()).name;
  return first == last ? first : fmt::format("{} .. {} ({})", first, last, stage.operators.size());
}

/// Upper bound of list ordering, for plans that use it.
std::string list_order_line(const cost::Problem& problem, const plan::Plan& plan) {
  if (plan.schedule != "list_order") return "";
  const auto most = schedule::list_order_bound(score::pipeline_of(problem, plan));
  return fmt::format(
      "Upper bound for list ordering with a separate link per message, without optimizer steps: {}\n",
      show(to_seconds(most)));
}

/// Lower bound for this order; none with a perturbation, under which devices may be faster than their type.
std::optional<score::PlanBound> order_bound(const cost::Problem& problem, const plan::Plan& plan,
                                            const sim::SimulationOptions& simulation) {
  if (simulation.perturbation) return {};
  return score::lower_bound(problem, plan, reduction(simulation));
}

std::string bound_line(const cost::Problem& problem, const CellOutcome& outcome,
                       const sim::SimulationOptions& simulation) {
  const auto bound = order_bound(problem, *outcome.plan, simulation);
  if (!bound || bound->time == core::Picoseconds(0)) return "";
  const double least = to_seconds(bound->time).value();
  return fmt::format(
      "Lower bound for this plan, in any order with these in-flight counts: {} ({}, {}). Simulated: {:+.1f} "
      "%.\n{}",
      show(core::Seconds(least)), name(bound->kind), bound->where,
      (*outcome.row.iteration_s / least - 1) * 100, list_order_line(problem, *outcome.plan));
}

/// Lower bound for any plan that divides as much.
std::string any_plan_line(const report::CellResult& row, const plan::Plan& plan) {
  if (!row.gap) return "";
  return fmt::format("Lower bound for any plan {}: {}. Simulated: {:+.1f} %.\n", name(score::family_of(plan)),
                     show(core::Seconds(*row.lower_bound_s)), *row.gap * 100);
}

/// Options that the planner of a searched plan did not try.
std::string untried_line(const cost::Problem& problem, const report::CellResult& row) {
  const std::string name = row.planner.substr(0, row.planner.find(':'));
  const bool known = std::ranges::count(planners::catalogue(), name, &planners::PlannerInfo::name) > 0;
  if (!row.search_s || !known) return "";
  const std::string line = in_words(planners::untried_groups(problem, planners::planner_choice(row.planner)));
  return line.empty() ? "" : line + "\n";
}

/// Line about the search, if there was one.
std::string search_line(const report::CellResult& row) {
  if (!row.search_s) return "";
  const auto memory = row.search_memory_bytes;
  return fmt::format(
      "search {}, simulating candidates {} (over all threads), {} states, memory {}; estimate error {}{}\n",
      show(core::Seconds(*row.search_s)), show(core::Seconds(row.judging_s.value_or(0))), *row.states,
      memory ? show(core::Bytes(*memory)) : "n/a", report::difference(*row.estimate_error),
      row.status == "ok" ? "" : "; " + row.status);
}

/// Known rates, such as "34980 tokens/s, 6.21 TFLOP/s per GPU, MFU 39.5 %".
std::string rates(const report::CellResult& row) {
  std::string out;
  if (row.tokens_per_s) out += fmt::format(", {:.0f} tokens/s", *row.tokens_per_s);
  if (row.tflops_per_device) out += fmt::format(", {:.2f} TFLOP/s per GPU", *row.tflops_per_device);
  if (row.mfu) out += fmt::format(", MFU {:.1f} %", *row.mfu * 100);
  return out;
}

/// Line about the costs and what was measured; empty for analytic costs.
std::string costs_line(const cost::Problem& problem, const CellOutcome& outcome) {
  if (outcome.row.costs == "analytic") return "";
  std::string out = "costs: " + outcome.row.costs;
  const auto& precision = problem.training.precision;
  if (precision && precision->products != graph::ProductFormat{} && out.find("measured runs") != out.npos)
    out += "; these runs multiplied in 16 bits";
  if (const auto* estimated = dynamic_cast<const cost::EstimatedCosts*>(&problem.costs)) {
    const auto coverage = cost::coverage(*estimated, problem.graph, problem.cluster, *outcome.plan);
    for (std::size_t i = 0; i < cost::kOrigins; ++i)
      out += fmt::format("{} {:.1f} % {}", i ? "," : "; of compute time",
                         coverage.time_share(static_cast<cost::TimeOrigin>(i)) * 100,
                         name(static_cast<cost::TimeOrigin>(i)));
  }
  return out + "\n";
}

/// Line about the cost of messages in order; empty where they are free.
std::string order_line(const report::CellResult& row, const std::optional<core::Seconds>& free) {
  if (!free) return "";
  return fmt::format(
      "communication in order, one message at a time per device: {:+.2f} % beside {} in free order\n",
      (*row.iteration_s / free->value() - 1) * 100, show(*free));
}

/// Line of the objective; empty for time, which every table shows.
std::string aim_line(const std::optional<AimResult>& reached) {
  if (!reached || reached->aim == SearchAim::time) return "";
  return fmt::format("{}: {}\n", name(reached->aim), reached->words);
}

std::string assumptions_line(const Assumptions& assumptions) {
  return assumptions.empty() ? "" : in_words(assumptions) + "\n";
}

/// Memory that the plan's devices reserve, for the first device's type.
core::Bytes reserved_by(const cluster::Cluster& cluster, const plan::Stage& stage) {
  return cluster.type(stage.devices.front()).reserved;
}

bool reserves(const cost::Problem& problem) {
  return std::ranges::any_of(problem.cluster.types(),
                             [](const auto& type) { return type.reserved.value() > 0; });
}

/// Shares of compute time by origin; null for analytic costs.
nlohmann::ordered_json origins_json(const cost::Problem& problem, const plan::Plan& plan) {
  const auto* estimated = dynamic_cast<const cost::EstimatedCosts*>(&problem.costs);
  if (!estimated) return {};
  const auto coverage = cost::coverage(*estimated, problem.graph, problem.cluster, plan);
  nlohmann::ordered_json out;
  for (std::size_t i = 0; i < cost::kOrigins; ++i)
    out[std::string(name(static_cast<cost::TimeOrigin>(i)))] =
        coverage.time_share(static_cast<cost::TimeOrigin>(i));
  return out;
}

/// Null if the number is missing.
template <class T>
nlohmann::ordered_json or_json_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// Null if the plan has no bound.
nlohmann::ordered_json bound_json(const cost::Problem& problem, const plan::Plan& plan,
                                  const sim::SimulationOptions& simulation) {
  const auto bound = order_bound(problem, plan, simulation);
  if (!bound) return {};
  return {
      {"iteration_s", to_seconds(bound->time).value()}, {"kind", name(bound->kind)}, {"at", bound->where}};
}

/// `micro_batch`: per replica.
nlohmann::ordered_json stage_json(const graph::OpGraph& graph, const plan::Stage& stage,
                                  std::int64_t micro_batch, const plan::MemoryByKind& memory) {
  nlohmann::ordered_json out;
  for (core::DeviceId d : stage.devices) out["devices"].push_back(d.index());
  out["replicas"] = stage.replicas();
  out["micro_batch"] = micro_batch;
  out["in_flight"] = stage.in_flight;
  out["recompute"] = plan::written(stage.recompute);
  out["tensor_parallel"] = stage.tensor_parallel;
  out["sequence_parallel"] = stage.sequence_parallel;
  for (const plan::StatedDim& stated : plan::kStatedDims)
    if (stated.dim != plan::MeshDim::tensor && stage.*stated.size > 1)
      out[std::string(stated.key)] = stage.*stated.size;
  if (stage.part) out["colocated"] = {{"replicas_before", stage.part.before}, {"replicas", stage.part.of}};
  out["zero"] = stage.zero;
  if (stage.zero_over > 0) out["zero_over"] = stage.zero_over;
  for (std::size_t k = 0; k < plan::kMemoryKinds; ++k)
    out["memory_bytes"][std::string(name(static_cast<MemoryKind>(k)))] = memory[k].value();
  for (core::OpId op : stage.operators) out["operators"].push_back(graph.op(op).name);
  return out;
}

/// All kinds, except buckets and temporaries of the step where no stage has any.
std::vector<MemoryKind> shown_kinds(const std::vector<plan::MemoryByKind>& memories) {
  std::vector<MemoryKind> out;
  for (std::size_t k = 0; k < plan::kMemoryKinds; ++k) {
    const auto kind = static_cast<MemoryKind>(k);
    const bool any =
        std::ranges::any_of(memories, [&](const auto& memory) { return at(memory, kind) > core::Bytes(0); });
    if (any || kind <= MemoryKind::versions) out.push_back(kind);
  }
  return out;
}

/// Memory of the device with the highest peak, without what is reserved.
core::Bytes capacity_of_fullest(const cluster::Cluster& cluster, const trace::Summary& summary) {
  const auto fullest = std::ranges::max_element(summary.devices, {}, &trace::DeviceSummary::peak);
  return cluster.type(core::DeviceId(static_cast<std::size_t>(fullest - summary.devices.begin()))).memory;
}

/// Null without a bound, or if nothing fits.
nlohmann::ordered_json runnable_json(const CellOutcome& outcome) {
  if (!outcome.runnable || !outcome.runnable->best) return {};
  const score::UniformBound& best = *outcome.runnable->best;
  return {{"framework", outcome.runnable->framework},
          {"iteration_s", best.time.value()},
          {"gap", *outcome.row.iteration_s / best.time.value() - 1},
          {"degrees", written(best.degrees)},
          {"limited_by", best.reason == score::UniformReason::memory ? "memory" : "work"},
          {"sets_of_degrees", outcome.runnable->degrees},
          {"least_memory_bytes", outcome.runnable->least_memory.value()}};
}

}  // namespace

std::optional<core::Seconds> free_order_time(const cost::Problem& problem,
                                             const schedule::ScheduledPlan& scheduled,
                                             const sim::SimulationOptions& options) {
  if (options.message_order == sim::MessageOrder::free) return {};
  sim::SimulationOptions free = options;
  free.message_order = sim::MessageOrder::free;
  return to_seconds(sim::simulate_time(problem, scheduled, free));
}

/// Stages of one device have their peaks at different moments.
std::string shared_devices_line(const report::CellResult& row) {
  return *row.stages > *row.pipeline_parallel
             ? "Devices hold several stages. Memory is that of a stage by itself; a device needs less than the sum.\n"
             : "";
}

std::string plan_table(const cost::Problem& problem, const CellOutcome& outcome,
                       const sim::SimulationOptions& simulation, const ReportExtras& beside,
                       const report::ScreenLimits& screen) {
  const plan::Plan& plan = *outcome.plan;
  const auto estimate = score::estimate(problem, plan);
  std::vector<report::Column> columns = {{"stage", Align::right},
                                         {.title = "operators", .folds = true},
                                         {.title = "devices", .folds = true},
                                         {"micro-batch", Align::right},
                                         {"in flight", Align::right, 8},
                                         {"time/sample", Align::right, 9},
                                         {"weights", Align::right, 6},
                                         {"gradients", Align::right, 3},
                                         {"optimizer", Align::right, 5},
                                         {"workspace", Align::right, 4},
                                         {"activations", Align::right, 7},
                                         {"buffers", Align::right, 1},
                                         {"versions", Align::right, 2}};
  const auto memories = score::stage_memories(problem, plan);
  const std::vector<MemoryKind> kinds = shown_kinds(memories);
  for (const MemoryKind kind : kinds)
    if (kind > MemoryKind::versions) columns.push_back({std::string(name(kind)), Align::right, 2});
  columns.push_back({"memory", Align::right});
  const bool reserved = reserves(problem);
  if (reserved) columns.push_back({"reserved", Align::right, 10});
  report::Table table(std::move(columns));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const auto& memory = memories[s];
    std::vector<std::string> cells = {std::to_string(s),
                                      operator_span(problem.graph, stage),
                                      device_list(problem.cluster, stage),
                                      std::to_string(plan::samples_per_device(plan, stage)),
                                      std::to_string(stage.in_flight),
                                      show(core::Seconds(estimate.stages[s].time_per_sample()))};
    for (const MemoryKind kind : kinds) cells.push_back(show(at(memory, kind)));
    cells.push_back(show(plan::total(memory)));
    if (reserved) cells.push_back(show(reserved_by(problem.cluster, stage)));
    table.add(std::move(cells));
  }
  const auto& row = outcome.row;
  const auto& perturbed = beside.perturbed;
  const std::string perturbation =
      perturbed ? fmt::format("{}, seed {}: {}; iteration without it {}\n{}", perturbed->file,
                              perturbed->seed, perturbed->what, show(perturbed->perfect),
                              perturbed->filling ? in_words(*perturbed->filling) + "\n" : "")
                : "";
  return fmt::format(
      "{}{}\n{}: {:.1f} samples/s{}\ndepth {} of {} stages; estimated iteration {}, simulated {}; idle "
      "{:.1f} % (exposed communication {:.1f} %), peak memory {} of {}\n{}{}{}{}{}{}{}{}{}{}{}{}{}{}",
      table.text(screen), shared_devices_line(row), *row.strategy, *row.samples_per_s, rates(row), *row.depth,
      *row.stages, show(core::Seconds(*row.estimate_s)), show(core::Seconds(*row.iteration_s)),
      *row.bubble * 100, outcome.summary->exposed_communication * 100,
      show(core::Bytes(*row.peak_memory_bytes)),
      show(capacity_of_fullest(problem.cluster, *outcome.summary)) +
          (reserved ? " that are not reserved" : "") +
          verdict_note(memory_verdict(problem.cluster, *outcome.summary)),
      in_lines(doubts(problem, outcome)), aim_line(beside.reached),
      order_line(row, beside.free_order) + costs_line(problem, outcome), perturbation,
      bound_line(problem, outcome, simulation),
      (outcome.runnable ? in_words(*outcome.runnable, *row.iteration_s) : "") + any_plan_line(row, plan),
      untried_line(problem, row) + search_line(row), assumptions_line(beside.assumptions),
      beside.memory ? "\n" + memory_table(problem.cluster, *outcome.summary, screen) : "",
      outcome.others.empty() ? "" : "\n" + top_table(outcome, screen),
      beside.explained ? "\n" + explain_table(*beside.explained, screen) : "",
      beside.what_if.empty() ? "" : "\n" + what_if_table(beside.what_if, screen),
      beside.faults ? "\n" + fault_table(*beside.faults, screen) : "",
      beside.traffic ? "\n" + traffic_table(*beside.traffic, screen) : "");
}

std::string plan_json(const cost::Problem& problem, const CellOutcome& outcome,
                      const sim::SimulationOptions& simulation, const ReportExtras& beside) {
  const plan::Plan& plan = *outcome.plan;
  const auto& row = outcome.row;
  nlohmann::ordered_json out = {
      {"model", row.model},
      {"cluster", row.cluster},
      {"devices", row.devices},
      {"planner", row.planner},
      {"mini_batch", row.mini_batch},
      {"strategy", *row.strategy},
      {"pipeline_parallel", *row.pipeline_parallel},
      {"depth", *row.depth},
      {"schedule", *row.schedule},
      {"estimate_s", *row.estimate_s},
      {"iteration_s", *row.iteration_s},
      {"estimate_error", *row.estimate_error},
      {"lower_bound", bound_json(problem, plan, simulation)},
      {"any_plan_lower_bound_s", or_json_null(row.lower_bound_s)},
      {"gap", or_json_null(row.gap)},
      {"runnable_lower_bound", runnable_json(outcome)},
      {"samples_per_s", *row.samples_per_s},
      {"tokens_per_s", or_json_null(row.tokens_per_s)},
      {"tflops_per_device", or_json_null(row.tflops_per_device)},
      {"mfu", or_json_null(row.mfu)},
      {"bubble", *row.bubble},
      {"exposed_communication", outcome.summary->exposed_communication},
      {"peak_memory_bytes", *row.peak_memory_bytes},
      {"memory_verdict", in_words(memory_verdict(problem.cluster, *outcome.summary))},
      {"costs", row.costs},
      {"origins", origins_json(problem, plan)}};
  if (const auto found = doubts(problem, outcome); !found.empty()) out["doubts"] = found;
  if (!beside.assumptions.empty()) out["assumptions"] = to_json(beside.assumptions);
  if (reserves(problem)) out["reserved_bytes"] = reserved_by(problem.cluster, plan.stages.front()).value();
  if (const auto& perturbed = beside.perturbed) {
    out.update({{"imperfection", perturbed->file},
                {"applied", perturbed->what},
                {"seed", perturbed->seed},
                {"perfect_iteration_s", perturbed->perfect.value()}});
    if (const auto& filling = perturbed->filling)
      out["lengths"] = {{"sequences", filling->sequences},
                        {"tokens", filling->tokens},
                        {"computed_tokens", filling->computed},
                        {"padding", filling->padding()}};
  }
  if (const auto& reached = beside.reached; reached && reached->aim != SearchAim::time)
    out["aim"] = {{"name", name(reached->aim)}, {"value", reached->value}, {"words", reached->words}};
  if (row.search_s)
    out.update({{"search_s", *row.search_s},
                {"judging_s", or_json_null(row.judging_s)},
                {"states", *row.states},
                {"search_memory_bytes", or_json_null(row.search_memory_bytes)},
                {"status", row.status}});
  const auto memories = score::stage_memories(problem, plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    out["stages"].push_back(stage_json(problem.graph, plan.stages[s],
                                       plan::samples_per_device(plan, plan.stages[s]), memories[s]));
  for (const trace::DeviceSummary& device : outcome.summary->devices)
    out["device_peaks"].push_back(peak_json(device));
  for (const trace::OutOfMemory& failure : outcome.summary->out_of_memory)
    out["out_of_memory"].push_back({{"device", failure.device.index()},
                                    {"at_s", to_seconds(failure.time).value()},
                                    {"needed_bytes", failure.needed.value()},
                                    {"capacity_bytes", failure.capacity.value()},
                                    {"what", trace::in_words(failure)}});
  if (!outcome.others.empty()) out["next_best"] = top_json(outcome);
  if (beside.explained) out["explain"] = explain_json(*beside.explained);
  if (!beside.what_if.empty()) out["what_if"] = what_if_json(beside.what_if);
  if (beside.free_order) out["free_order_iteration_s"] = beside.free_order->value();
  if (beside.faults) out["faults"] = fault_json(*beside.faults);
  if (beside.traffic) out["traffic"] = traffic_json(*beside.traffic);
  return out.dump(2) + "\n";
}

std::string in_words(const sim::SampleContent& filling) {
  return fmt::format("lengths: {} sequences, {} tokens, padding {:.1f} % of what is computed",
                     filling.sequences, filling.tokens, filling.padding() * 100);
}

std::string to_json(const sim::Waterfall& waterfall) {
  return waterfall_json(waterfall).dump(2) + "\n";
}

std::string timeline_svg(const CellOutcome& outcome) {
  report::TimelineStyle style;
  style.title = fmt::format("{} on {} devices of {}, {}", outcome.row.model, outcome.row.devices,
                            outcome.row.cluster, outcome.row.planner);
  return report::to_svg(*outcome.trace, style);
}

}  // namespace penstock::experiment
