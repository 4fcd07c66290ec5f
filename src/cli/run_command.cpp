#include <fmt/format.h>
#include <unistd.h>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/schedule_study.hpp"
#include "penstock/report/comparison.hpp"

namespace penstock::cli {
namespace {

struct Flags {
  std::string file;
  std::string folder;
  int threads = 0;
  bool json = false;
};

/// A bar that redraws itself on a terminal, a line per cell elsewhere; both on standard error.
experiment::Progress progress() {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  return [terminal](std::size_t done, std::size_t total, const report::CellResult& row) {
    const std::string what =
        fmt::format("{} {} devices {}: {}", row.model, row.devices, row.planner,
                    row.samples_per_s ? fmt::format("{:.1f} samples/s", *row.samples_per_s) : row.status);
    if (!terminal) {
      fmt::print(stderr, "[{}/{}] {}\n", done, total, what);
      return;
    }
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = done * kWidth / total;
    fmt::print(stderr, "\r\033[K[{}{}] {}/{} {}{}", std::string(filled, '#'),
               std::string(kWidth - filled, '.'), done, total, what.substr(0, 60), done == total ? "\n" : "");
  };
}

core::ExitCode exit_code(const experiment::RunOutcome& outcome) {
  if (outcome.interrupted) return core::ExitCode::interrupted;
  for (const auto& row : outcome.rows)
    if (row.iteration_s) return core::ExitCode::done;
  return core::ExitCode::infeasible;
}

core::ExitCode run_study(const Flags& flags, const Session& session) {
  const auto study = experiment::load_schedule_study(flags.file);
  const std::string folder = flags.folder.empty() ? "results/" + study.name : flags.folder;
  const std::string tables = experiment::run(study, folder, provenance(session));
  fmt::print("{}", flags.json ? core::read_file(folder + "/results.json") : tables);
  fmt::print(stderr, "\nDone: {} cells; results in {}/\n", study.cells.size(), folder);
  return core::ExitCode::done;
}

core::ExitCode run(const Flags& flags, const Session& session) {
  const ThreadLimit limit(flags.threads);
  if (experiment::is_schedule_study(flags.file)) return run_study(flags, session);
  const experiment::Spec spec = experiment::load_spec(flags.file);
  experiment::RunOptions options;
  options.folder = flags.folder.empty() ? "results/" + spec.name : flags.folder;
  options.provenance = provenance(session);
  options.progress = progress();
  const auto outcome = experiment::run(spec, options, session.stop());
  fmt::print("{}", flags.json ? report::to_json(outcome.rows, options.provenance)
                              : report::comparison(outcome.rows, spec.baseline));
  if (!flags.json && !outcome.claims.empty()) fmt::print("\n{}", outcome.claims);
  fmt::print(stderr,
             "\n{}: {} of {} cells; results in {}/ (results.csv, results.json, plans/, timelines/*.svg, "
             "traces/*.pftrace for ui.perfetto.dev)\n",
             outcome.interrupted ? "Interrupted" : "Done", outcome.rows.size(), spec.cells.size(),
             options.folder);
  return exit_code(outcome);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "run", "Run an experiment file: plan and simulate every cell of its grid, write a results folder.");
  auto flags = std::make_shared<Flags>();
  command->footer(
      "Cells run in parallel. Each finished cell leaves plans/*.yaml, timelines/*.svg and traces/*.pftrace; "
      "at the end, or when\n"
      "interrupted, results.csv, results.json (with provenance) and table.txt hold the finished cells; "
      "claims.csv says what became\n"
      "of the papers' claims in the file.\n\n"
      "Example:\n"
      "  penstock run experiments/quickstart.yaml");
  command->add_option("FILE", flags->file, "the experiment file; experiments/README.md describes the form")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", flags->folder, "results folder; default: results/<experiment>")
      ->type_name("DIR");
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
