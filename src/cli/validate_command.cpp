// penstock validate: every plan of an experiment replayed.
#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "budget.hpp"
#include "heartbeat.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/validate.hpp"
#include "penstock/report/difference.hpp"
#include "replay_flags.hpp"
#include "validate_against.hpp"

namespace penstock::cli {
namespace {

struct ValidateFlags {
  std::string file, folder;
  CostFlags costs;
  ReplayFlags replay;
  std::vector<std::string> only;
  std::string budget;
  int threads = 0;
  WideFlag wide;
  AgainstFlags against;
};

/// A line when five seconds have passed since the last one.
class PlanningProgress {
 public:
  void operator()(std::size_t done, std::size_t total) {
    constexpr std::chrono::seconds kPause(5);
    const std::lock_guard lock(said_->mutex);
    const auto now = std::chrono::steady_clock::now();
    if (done < total && now - said_->last < kPause) return;
    said_->last = now;
    say(fmt::format("[{}/{}] planned\n", done, total));
  }

 private:
  struct LastLine {
    std::mutex mutex;
    std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  };
  std::shared_ptr<LastLine> said_ = std::make_shared<LastLine>();
};

void show(const experiment::ValidateProgress& p) {
  say(fmt::format("[{}/{}] {}: {} measured, {} simulated, {}{}; {} left\n", p.done, p.total, p.row.plan,
                  core::show(core::Seconds(p.row.measured.median)),
                  core::show(core::Seconds(p.row.simulated_s)), report::difference(p.row.error()),
                  p.row.noisy() ? ", noisy" : "", core::show(p.left)));
}

/// The experiment's costs, unless the flag names others, which must hold for its clusters too. A calibration
/// is a megabyte: it is read once per cluster, not per cell.
std::shared_ptr<const cost::CostModel> load_costs(const ValidateFlags& flags, const experiment::Spec& spec,
                                                  core::StopToken stop) {
  if (!flags.costs.file) return spec.inputs->costs(spec.costs);
  std::shared_ptr<const cost::CostModel> out;
  std::set<std::pair<std::string, int>> seen;
  for (const experiment::Cell& cell : spec.cells) {
    if (!seen.insert({cell.cluster.name, cell.cluster.devices}).second) continue;
    stop.check();
    out = flags.costs.load(spec.inputs->cluster(cell.cluster));
  }
  return out;
}

core::ExitCode exit_code(const experiment::ValidateOutcome& outcome, bool over) {
  return over                         ? core::ExitCode::limit
         : outcome.interrupted        ? core::ExitCode::interrupted
         : outcome.failed             ? core::ExitCode::device_failed
         : outcome.table.rows.empty() ? core::ExitCode::infeasible
                                      : core::ExitCode::done;
}

core::ExitCode run(const ValidateFlags& flags, const CommandContext& session) {
  const ThreadLimit limit(flags.threads);
  if (flags.against.runs.empty() == flags.file.empty())
    throw core::Error(core::ExitCode::usage, "give an experiment file or --against RUNS.csv");
  if (!flags.against.runs.empty() && !flags.only.empty())
    throw core::Error(core::ExitCode::usage,
                      "--only needs an experiment file; it cannot be used with --against");
  if (!flags.against.runs.empty())
    return run_against(flags.against, flags.costs, flags.folder, flags.budget, flags.wide.screen(), session);
  const experiment::Spec spec = experiment::load_spec(flags.file);
  const TimeBudget budget(flags.budget, session.stop());
  const auto costs = load_costs(flags, spec, budget.stop());
  experiment::ValidateOptions options;
  options.folder = flags.folder.empty() ? "out/" + spec.name : flags.folder;
  options.replay = flags.replay.setting();
  options.provenance = provenance(session);
  options.setting = conditions(flags.replay, flags.costs.file ? flags.costs.file : spec.costs);
  for (const auto& [key, value] : options.setting) options.conditions += key + ": " + value + "\n";
  options.stamp = [&session](report::ReplayRow& row) { stamp(row, session); };
  options.only = flags.only;
  options.planned = PlanningProgress();
  std::optional<ProgressReporter> heartbeat;
  options.began = [&](const std::string& plan) { heartbeat.emplace(plan, "replaying for"); };
  options.progress = [&](const experiment::ValidateProgress& p) {
    heartbeat.reset();
    show(p);
  };
  const auto outcome = experiment::validate(spec, *costs, options, budget.stop());
  heartbeat.reset();
  const bool over = outcome.interrupted && budget.over();
  const report::ScreenLimits screen = flags.wide.screen();
  print_page(report::replay_table(outcome.table, screen), screen);
  const char* how = over ? "The budget is over" : outcome.interrupted ? "Interrupted" : "Done";
  say(fmt::format(
      "\n{}: {} of {} plans; results in {}/ (validation.csv, validation.json, table.txt, plans/){}\n", how,
      outcome.table.rows.size(), spec.cells.size(), options.folder,
      outcome.interrupted ? "; the same command resumes" : ""));
  return exit_code(outcome, over);
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "validate",
      "Replay every plan of an experiment file and compare it with its simulation on this machine.");
  auto flags = std::make_shared<ValidateFlags>();
  command->footer(
      "Plans every cell like `penstock run`, then executes the plans one after the other like "
      "`penstock replay`. validation.csv, validation.json and table.txt are valid after each plan; "
      "after Ctrl-C the same command resumes. If repeats of a plan differ by more than 5 %, it is "
      "reported as noisy. Measure on an idle machine.\n"
      "\n"
      "Example:\n"
      "  penstock validate experiments/validation_host.yaml --costs host.yaml\n"
      "  penstock validate --against runs.csv --clusters experiments/published");
  command
      ->add_option("EXPERIMENT", flags->file,
                   "the experiment file; docs/formats/experiment.md describes the form")
      ->type_name("");
  flags->against.add(*command);
  flags->costs.add(*command);
  flags->replay.add(*command);
  command->add_option("-o,--output", flags->folder, "results folder; default: out/<experiment>")
      ->type_name("DIR");
  command
      ->add_option(
          "--only", flags->only,
          "replay only plans of cells with these values (model=mmt,devices=2); can be repeated to add "
          "cells. Measured rows of other plans stay")
      ->type_name("AXIS=VALUE,...")
      ->allow_extra_args(false);
  add_budget(*command, flags->budget);
  add_threads(*command, flags->threads);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
