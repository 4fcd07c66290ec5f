#include "plan_flags.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "heartbeat.hpp"
#include "output.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/answer_page.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/plan_report.hpp"
#include "penstock/experiment/run.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/report/perfetto.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/score/order.hpp"

namespace penstock::cli {

void PlanOutput::add(CLI::App& command) {
  command.add_option("-o,--output", file_, "write the plan file here; replaces only a plan file")
      ->type_name("FILE");
}

void PlanOutput::check(bool force) const {
  if (force || !std::filesystem::is_regular_file(file_) || std::filesystem::is_empty(file_)) return;
  if (plan::is_plan_file(core::read_file(file_))) return;
  throw core::Error(
      experiment::kOccupied,
      file_ + " exists and is not a plan file; choose another name (-o), move it away, or use --force");
}

void PlanOutput::write(const graph::OpGraph& graph, const plan::Plan& plan) const {
  if (file_.empty()) return;
  core::write_file(file_, plan::to_yaml(graph, plan::written_to(file_, plan)));
  say(fmt::format("plan written to {}\n", file_));
}

void TimelineFlags::add(CLI::App& command) {
  command.add_option("--svg", svg, "draw the timeline here")->type_name("FILE");
  command
      .add_option("--perfetto", perfetto, "write a trace for ui.perfetto.dev here; JSON if it ends in .json")
      ->type_name("FILE");
}

void TimelineFlags::write(const experiment::CellOutcome& outcome, const cluster::Cluster& cluster) const {
  if (!svg.empty()) core::write_file(svg, experiment::timeline_svg(outcome));
  if (!perfetto.empty()) report::write_perfetto(perfetto, *outcome.trace, &cluster);
}

void ExplainFlags::add(CLI::App& command) {
  option_ =
      command
          .add_option(
              "--explain", entries_,
              "print where device time goes, from peak to MFU; which stages and links are on the critical "
              "path, with the iteration time without each of the first five; and the path in at most N "
              "lines; "
              "default: 20")
          ->expected(0, 1)
          ->default_str("20")
          ->check(CLI::Range(1, 1'000'000).description(""))
          ->type_name("[N]");
}

experiment::ExplainedRun ExplainFlags::explained(const cost::Problem& problem,
                                                 const schedule::ScheduledPlan& scheduled,
                                                 const sim::SimulationOptions& options,
                                                 const report::CellResult& row) const {
  for (const std::string& line : sim::unused(problem, scheduled, options)) warn(line);
  return experiment::explained_run(problem, scheduled, options, row, entries_);
}

void PlanSearch::add(CLI::App& command) {
  aim.add(command);
  simulation.add(command);
  time_limit.add(command);
  memory_limit.add(command);
  output.add(command);
  timeline.add(command);
  explain.add(command);
  page.add(command);
  add_threads(command, threads);
  add_json(command, json);
  wide.add(command);
}

experiment::SearchSetting PlanSearch::setting(planners::SearchOptions options) const {
  experiment::SearchSetting out{std::move(options), simulation.options(), time_limit.value(), true,
                                memory_limit.value()};
  out.keep_trace = timeline.given();
  return out;
}

experiment::AimedPlan PlanSearch::run(const std::string& who, const cost::Problem& problem,
                                      const experiment::Cell& cell, experiment::SearchSetting setting,
                                      core::StopToken stop) const {
  const experiment::AimSetting aimed = aim.setting(problem.cluster);
  from_command_line(
      [&] { experiment::check_aim(aimed.aim, cell.planner, setting.options.judge_by_estimate); });
  ProgressReporter alive(who);
  setting.options.progress = [&alive](const std::string& progress) { alive.tell(progress); };
  return experiment::search_for(aimed, problem, cell, setting, stop);
}

void PlanSearch::check(bool force) const {
  output.check(force);
  page.check(force);
}

void PlanSearch::leave(const cost::Problem& problem, const experiment::AimedPlan& found,
                       const experiment::Assumptions& assumptions, const CommandContext& session) const {
  output.write(problem.graph, *found.outcome.plan);
  timeline.write(found.outcome, found.cluster);
  if (page.given())
    page.write(experiment::plan_page(problem, found, simulation.options(), provenance(session),
                                     in_words(assumptions)));
}

core::ExitCode PlanSearch::show(const cost::Problem& problem, const experiment::AimedPlan& found,
                                const experiment::Assumptions& assumptions) const {
  const cost::Problem part = experiment::on_its_devices(problem, found);
  experiment::ReportExtras beside{.reached = found.reached, .assumptions = assumptions};
  if (explain.given())
    beside.explained = explain.explained(part, score::scheduled(part, *found.outcome.plan),
                                         simulation.options(), found.outcome.row);
  const report::ScreenLimits screen = wide.screen();
  if (json)
    for (const std::string& doubt : experiment::doubts(part, found.outcome)) warn(doubt);
  if (json)
    print(experiment::plan_json(part, found.outcome, simulation.options(), beside));
  else
    print_page(experiment::plan_table(part, found.outcome, simulation.options(), beside, screen), screen);
  return experiment::interrupted(found.outcome.row) ? core::ExitCode::interrupted : core::ExitCode::done;
}

}  // namespace penstock::cli
