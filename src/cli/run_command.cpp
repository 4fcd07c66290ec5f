#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/forecast.hpp"
#include "penstock/experiment/schedule_study.hpp"
#include "penstock/report/comparison.hpp"
#include "penstock/report/table.hpp"
#include "rank.hpp"
#include "run_progress.hpp"

namespace penstock::cli {
namespace {

struct Flags {
  std::string file;
  experiment::Overrides overrides;
  std::string folder;
  std::string cache;
  int threads = 0;
  bool dry_run = false;
  bool json = false;
};

core::ExitCode exit_code(const experiment::RunOutcome& outcome) {
  if (outcome.interrupted) return core::ExitCode::interrupted;
  const auto any = [&](auto&& holds) { return std::any_of(outcome.rows.begin(), outcome.rows.end(), holds); };
  if (any([](const auto& row) { return row.status.starts_with("internal: "); }))
    return core::ExitCode::internal;
  return any([](const auto& row) { return row.iteration_s.has_value(); }) ? core::ExitCode::done
                                                                          : core::ExitCode::infeasible;
}

std::string known(double seconds, std::size_t unknown) {
  std::string out = unknown ? "unknown" : "none";
  if (seconds > 0) out = "about " + core::show(core::Seconds(seconds));
  if (seconds > 0 && unknown) out += fmt::format(" and {} cells of which it is unknown", unknown);
  return out;
}

core::ExitCode print_forecast(const std::vector<experiment::Forecast>& cells) {
  report::Table table({{"cell"}, {"state"}, {"last took", report::Align::right}});
  std::size_t cached = 0, unknown = 0;
  double seconds = 0;
  for (const auto& cell : cells) {
    const bool run = cell.status.empty();
    table.add({cell.cell, run ? "to run" : "cached: " + cell.status,
               cell.seconds ? core::show(core::Seconds(*cell.seconds)) : "unknown"});
    cached += !run;
    unknown += run && !cell.seconds;
    if (run) seconds += cell.seconds.value_or(0);
  }
  fmt::print("{}\n{} of {} cells are cached, {} to run; time, one after the other, as they last took: {}\n",
             table.text(), cached, cells.size(), cells.size() - cached, known(seconds, unknown));
  return core::ExitCode::done;
}

void print_outcome(const Flags& flags, const experiment::Spec& spec, const experiment::RunOptions& options,
                   const experiment::RunOutcome& outcome) {
  constexpr report::Columns kAll{true, true, true, true};
  fmt::print("{}", flags.json ? report::to_json(outcome.rows, options.provenance, kAll)
                              : report::comparison(outcome.rows, spec.baseline, true));
  if (!flags.json && !outcome.claims.empty()) fmt::print("\n{}", outcome.claims);
  fmt::print(stderr,
             "\n{}: {} of {} cells; results in {}/ (results.csv, results.json, plans/, timelines/*.svg, "
             "traces/*.pftrace for ui.perfetto.dev)\n",
             outcome.interrupted ? "Interrupted" : "Done", outcome.rows.size(), spec.cells.size(),
             options.folder);
}

core::ExitCode run_study(const Flags& flags, const Session& session) {
  if (flags.dry_run || !flags.cache.empty())
    throw core::BadInput("--dry-run and --cache are for cells with a search; schedules alone are run anew");
  if (process_rank() != 0) return core::ExitCode::done;  // one process does it all
  const auto study = experiment::load_schedule_study(flags.file, flags.overrides);
  const std::string folder = flags.folder.empty() ? "results/" + study.name : flags.folder;
  const std::string tables = experiment::run(study, folder, provenance(session));
  fmt::print("{}", flags.json ? core::read_file(folder + "/results.json") : tables);
  fmt::print(stderr, "\nDone: {} cells; results in {}/\n", study.cells.size(), folder);
  return core::ExitCode::done;
}

core::ExitCode run(const Flags& flags, const Session& session) {
  const ThreadLimit limit(flags.threads);
  if (experiment::is_schedule_study(flags.file)) return run_study(flags, session);
  const experiment::Spec spec = experiment::load_spec(flags.file, flags.overrides);
  experiment::RunOptions options;
  options.folder = flags.folder.empty() ? "results/" + spec.name : flags.folder;
  options.cache = flags.cache;
  options.provenance = provenance(session);
  options.program = program(options.provenance);
  options.leader = process_rank() == 0;
  if (flags.dry_run) return print_forecast(experiment::forecast(spec, options));
  if (options.leader) options.progress = run_progress();
  const auto outcome = experiment::run(spec, options, session.stop());
  if (options.leader) print_outcome(flags, spec, options, outcome);
  if (!options.leader && !outcome.interrupted) return core::ExitCode::done;  // the leader speaks for all
  return exit_code(outcome);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "run", "Run an experiment file: plan and simulate every cell of its grid, write a results folder.");
  auto flags = std::make_shared<Flags>();
  command->footer(
      "Cells run in parallel. Finished ones stay in the cache: the same cell, of the same build of penstock, "
      "is "
      "not run\n"
      "again, and a run that was interrupted or killed goes on where it was. Each leaves cells/*.json (all "
      "it "
      "depends on),\n"
      "plans/*.yaml, timelines/*.svg and traces/*.pftrace; at the end, or when interrupted, results.csv, "
      "results.json and\n"
      "table.txt hold the finished cells, timings.csv what the searches took, provenance.json who wrote "
      "them;\n"
      "when all are there, claims.csv says what became of the papers' claims in the file.\n"
      "Processes that share the cache share the cells; with mpirun or srun the first one writes the "
      "results.\n"
      "Exit code 20 when no cell has a plan, whatever the reason in its status.\n\n"
      "Examples:\n"
      "  penstock run experiments/quickstart.yaml\n"
      "  penstock run experiments/quickstart.yaml --set clusters.0.devices=[4] --set time_limit=10s -o few");
  command->add_option("FILE", flags->file, "the experiment file; experiments/README.md describes the form")
      ->required()
      ->type_name("FILE");
  command
      ->add_option(
          "--set", flags->overrides,
          "a value in the file is another one, by its dotted path (models.0.mini_batch=[64]); may be "
          "repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("-o,--output", flags->folder, "results folder; default: results/<experiment>")
      ->type_name("DIR");
  command
      ->add_option("--cache", flags->cache, "folder of finished cells; default: .cache in the results folder")
      ->type_name("DIR");
  auto* dry_run = command->add_flag("--dry-run", flags->dry_run,
                                    "only list the cells: cached or to run, and what they last took");
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  dry_run->excludes("--json");
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
