// penstock validate: every plan of an experiment replayed.
#include <fmt/format.h>

#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/validate.hpp"
#include "replay_flags.hpp"

namespace penstock::cli {
namespace {

struct Flags {
  std::string file, folder;
  CostFlags costs;
  ReplayFlags replay;
  int threads = 0;
};

void show(const experiment::ValidateProgress& p) {
  fmt::print(stderr, "[{}/{}] {}: {} measured, {} simulated, {:+.1f} %{}; {} left\n", p.done, p.total,
             p.row.plan, core::show(core::Seconds(p.row.measured.median)),
             core::show(core::Seconds(p.row.simulated_s)), p.row.error() * 100,
             p.row.noisy() ? ", noisy" : "", core::show(p.left));
}

/// The experiment's costs, unless the flag names others, which must hold for its clusters too.
std::shared_ptr<const cost::CostModel> load_costs(const Flags& flags, const experiment::Spec& spec) {
  if (!flags.costs.file) return experiment::load_costs(spec.costs);
  std::shared_ptr<const cost::CostModel> out;
  for (const experiment::Cell& cell : spec.cells)
    out = flags.costs.load(experiment::load_cluster(cell.cluster));
  return out;
}

core::ExitCode exit_code(const experiment::ValidateOutcome& outcome) {
  return outcome.interrupted          ? core::ExitCode::interrupted
         : outcome.failed             ? core::ExitCode::device_failed
         : outcome.table.rows.empty() ? core::ExitCode::infeasible
                                      : core::ExitCode::done;
}

core::ExitCode run(const Flags& flags, const Session& session) {
  const ThreadLimit limit(flags.threads);
  const experiment::Spec spec = experiment::load_spec(flags.file);
  const auto costs = load_costs(flags, spec);
  experiment::ValidateOptions options;
  options.folder = flags.folder.empty() ? "results/" + spec.name : flags.folder;
  options.replay = flags.replay.setting();
  options.provenance = provenance(session);
  options.setting = conditions(flags.replay, flags.costs.file ? flags.costs.file : spec.costs);
  for (const auto& [key, value] : options.setting) options.conditions += key + ": " + value + "\n";
  options.stamp = [&session](report::ReplayRow& row) { stamp(row, session); };
  options.progress = show;
  const auto outcome = experiment::validate(spec, *costs, options, session.stop());
  fmt::print("{}", report::replay_table(outcome.table));
  fmt::print(stderr,
             "\n{}: {} of {} plans; results in {}/ (validation.csv, validation.json, table.txt, plans/){}\n",
             outcome.interrupted ? "Interrupted" : "Done", outcome.table.rows.size(), spec.cells.size(),
             options.folder, outcome.interrupted ? "; the same command goes on" : "");
  return exit_code(outcome);
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "validate", "Replay every plan of an experiment file: how right the simulator is on this machine.");
  auto flags = std::make_shared<Flags>();
  command->footer(
      "Plans every cell as `penstock run` does, then executes the plans one after the other, as `penstock "
      "replay` does. "
      "After each one\n"
      "validation.csv, validation.json and table.txt are whole; after Ctrl-C the same command goes on where "
      "it was. A "
      "plan whose repeats\n"
      "tell its time no better than 5 % is reported as noisy. Measure on a machine that does nothing "
      "else.\n\n"
      "Example:\n"
      "  penstock validate experiments/validation_host.yaml --costs host.yaml");
  command->add_option("FILE", flags->file, "the experiment file; experiments/README.md describes the form")
      ->required()
      ->type_name("");
  flags->costs.add(*command);
  flags->replay.add(*command);
  command->add_option("-o,--output", flags->folder, "results folder; default: results/<experiment>")
      ->type_name("DIR");
  add_threads(*command, flags->threads);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
