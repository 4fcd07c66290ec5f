#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "budget.hpp"
#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/forecast.hpp"
#include "penstock/experiment/schedule_study.hpp"
#include "penstock/report/comparison.hpp"
#include "penstock/report/table.hpp"
#include "rank.hpp"
#include "run_progress.hpp"

namespace penstock::cli {
namespace {

struct RunFlags {
  std::string file;
  experiment::Overrides overrides;
  std::string folder;
  std::string cache;
  int threads = 0;
  std::vector<std::string> only;
  std::string budget;
  bool dry_run = false;
  bool json = false;
  WideFlag wide;
};

core::ExitCode exit_code(const experiment::RunOutcome& outcome, bool over) {
  if (over) return core::ExitCode::limit;
  if (outcome.interrupted) return core::ExitCode::interrupted;
  const auto any = [&](auto&& holds) { return std::any_of(outcome.rows.begin(), outcome.rows.end(), holds); };
  if (any([](const auto& row) { return row.status.starts_with("internal: "); }))
    return core::ExitCode::internal;
  if (any(experiment::out_of_memory)) return core::ExitCode::limit;
  return any([](const auto& row) { return row.iteration_s.has_value(); }) ? core::ExitCode::done
                                                                          : core::ExitCode::infeasible;
}

std::string known(double seconds, std::size_t unknown) {
  std::string out = unknown ? "unknown" : "none";
  if (seconds > 0) out = "about " + core::show(core::Seconds(seconds));
  if (seconds > 0 && unknown) out += fmt::format(" and {} cells of unknown time", unknown);
  return out;
}

core::ExitCode print_forecast(const std::vector<experiment::CellForecast>& cells,
                              const report::ScreenLimits& screen) {
  report::Table table({{.title = "cell", .folds = true},
                       {.title = "state", .folds = true},
                       {"last took", report::Align::right}});
  std::size_t cached = 0, unknown = 0;
  double seconds = 0;
  for (const auto& cell : cells) {
    const bool run = cell.run;
    const char* state = !run ? "cached: " : cell.status.empty() ? "to run" : "to run again: ";
    table.add({cell.cell, state + cell.status,
               cell.seconds ? core::show(core::Seconds(*cell.seconds)) : "unknown"});
    cached += !run;
    unknown += run && !cell.seconds;
    if (run) seconds += cell.seconds.value_or(0);
  }
  print_page(
      fmt::format(
          "{}\n{} of {} cells are cached, {} to run; time, one after the other, as they last took: {}\n",
          table.text(screen), cached, cells.size(), cells.size() - cached, known(seconds, unknown)),
      screen);
  return core::ExitCode::done;
}

/// Why cells have no plan, or not the best one.
std::string reasons(const std::vector<report::CellResult>& rows) {
  constexpr std::size_t kMost = 20;
  std::string out;
  std::size_t count = 0;
  for (const report::CellResult& row : rows)
    if (row.status != "ok" && ++count <= kMost) out += "\n" + progress_line(row, false);
  if (count > kMost) out += fmt::format("\nand {} more: results.csv has them", count - kMost);
  return count > 0 ? out + "\n" : "";
}

void print_outcome(const RunFlags& flags, const experiment::Spec& spec, const experiment::RunOptions& options,
                   const experiment::RunOutcome& outcome, bool over) {
  if (flags.json) {
    const bool ratio = !spec.baseline.empty();
    std::vector<report::CellResult> rows = outcome.rows;
    report::add_ratios(rows, spec.baseline);
    print(report::to_json(rows, options.provenance, {true, true, true, true, ratio}));
  } else {
    report::ScreenLimits screen = flags.wide.screen();
    screen.more += "; all is in results.csv and table.txt";
    print_page(report::comparison(outcome.rows, spec.baseline, true, screen), screen);
    print_page(reasons(outcome.rows), screen);
    if (!outcome.claims.empty()) print_page("\n" + outcome.claims, screen);
  }
  for (const std::string& doubt : experiment::doubts(outcome.rows)) warn(doubt);
  const char* how = over ? "The budget is over" : outcome.interrupted ? "Interrupted" : "Done";
  say(fmt::format(
      "\n{}: {} of {} cells; results in {}/ (results.csv, results.json, plans/, timelines/*.svg, "
      "traces/*.pftrace for ui.perfetto.dev){}\n",
      how, outcome.rows.size(), spec.cells.size(), options.folder,
      outcome.removed ? fmt::format("; files of {} cells of earlier runs removed", outcome.removed) : ""));
}

core::ExitCode run_study(const RunFlags& flags, const std::string& text, const CommandContext& session) {
  if (flags.dry_run || !flags.cache.empty() || !flags.only.empty() || !flags.budget.empty())
    throw core::BadInput(
        "--dry-run, --cache, --only and --budget need cells with a search; a study of schedules always "
        "runs again");
  if (process_rank() != 0) return core::ExitCode::done;  // one process does it all
  const auto study = experiment::parse_schedule_study(text, flags.file, flags.overrides);
  const std::string folder = flags.folder.empty() ? "out/" + study.name : flags.folder;
  report::ScreenLimits screen = flags.wide.screen();
  screen.more += "; all is in results.csv and table.txt";
  const std::string tables = experiment::run(study, folder, provenance(session), screen);
  if (flags.json)
    print(core::read_file(folder + "/results.json"));
  else
    print_page(tables, screen);
  say(fmt::format("\nDone: {} cells; results in {}/\n", study.cells.size(), folder));
  return core::ExitCode::done;
}

/// Runs the experiment; only the leader shows progress.
experiment::RunOutcome with_progress(const experiment::Spec& spec, experiment::RunOptions options,
                                     core::StopToken stop) {
  std::optional<RunProgress> progress;
  if (options.leader) {
    progress.emplace(spec.cells.size());
    options.began = [&](const report::CellResult& row) { progress->began(row); };
    options.progress = [&](std::size_t done, std::size_t total, const report::CellResult& row, bool cached) {
      progress->done(done, total, row, cached);
    };
  }
  return experiment::run(spec, options, stop);
}

core::ExitCode run(const RunFlags& flags, const CommandContext& session) {
  const ThreadLimit limit(flags.threads);
  const std::string text = core::read_file(flags.file);  // once: it may be a pipe
  if (experiment::is_schedule_study(text, flags.file)) return run_study(flags, text, session);
  const experiment::Spec spec = experiment::parse_spec(text, flags.file, flags.overrides);
  experiment::RunOptions options;
  options.folder = flags.folder.empty() ? "out/" + spec.name : flags.folder;
  options.cache = flags.cache;
  options.only = flags.only;
  options.provenance = provenance(session);
  options.program = program(options.provenance);
  options.leader = process_rank() == 0;
  options.job = process_job();
  if (flags.dry_run) return print_forecast(experiment::forecast(spec, options), flags.wide.screen());
  const TimeBudget budget(flags.budget, session.stop());
  const auto outcome = with_progress(spec, options, budget.stop());
  const bool over = outcome.interrupted && budget.over();
  if (outcome.led) print_outcome(flags, spec, options, outcome, over);
  if (!outcome.led && !outcome.interrupted) return core::ExitCode::done;  // the leader speaks for all
  return exit_code(outcome, over);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "run", "Run an experiment file: plan and simulate all of its cells, write a results folder.");
  auto flags = std::make_shared<RunFlags>();
  command->footer(
      "Cells run in parallel. Finished cells stay in the cache: the same build of penstock does not "
      "run the same cell again, and an interrupted run resumes. Each cell writes cells/*.json (its "
      "inputs), plans/*.yaml, timelines/*.svg and traces/*.pftrace. At the end, or when interrupted, "
      "results.csv, results.json and table.txt have the finished cells, timings.csv the search times, "
      "provenance.json the build and command; with all cells finished, claims.csv has the verdict on "
      "each claim in the file. Processes that share the cache share the cells; with mpirun or srun the "
      "first one writes the results. Exit code 20: no cell has a plan. Exit code 12: the folder has "
      "another experiment's results.\n"
      "\n"
      "Examples:\n"
      "  penstock run experiments/quickstart.yaml\n"
      "  penstock run experiments/quickstart.yaml --set clusters.0.devices=[4] --set time_limit=10s -o "
      "few");
  command
      ->add_option("EXPERIMENT", flags->file,
                   "the experiment file; docs/formats/experiment.md describes the form")
      ->required()
      ->type_name("FILE");
  command
      ->add_option(
          "--set", flags->overrides,
          "replace the value at this dotted path of the file (models.0.mini_batch=[64]); can be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("-o,--output", flags->folder, "results folder; default: out/<experiment>")
      ->type_name("DIR");
  command
      ->add_option("--cache", flags->cache, "folder of finished cells; default: .cache in the results folder")
      ->type_name("DIR");
  command
      ->add_option(
          "--only", flags->only,
          "run only the cells with these values (model=mmt,devices=8); can be repeated to add cells. "
          "Cached rows of other cells stay")
      ->type_name("AXIS=VALUE,...")
      ->allow_extra_args(false);
  add_budget(*command, flags->budget);
  auto* dry_run = command->add_flag(
      "--dry-run", flags->dry_run, "only list the cells: cached or to run, and how long each took last time");
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  flags->wide.add(*command);
  dry_run->excludes("--json");
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
