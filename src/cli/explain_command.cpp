// penstock explain: a plan in ten sentences.

#include "command.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/plan_sentences.hpp"
#include "penstock/score/order.hpp"
#include "plan_input.hpp"

namespace penstock::cli {
namespace {

struct ExplainCommandFlags {
  std::string file;
  ModelFlags model;
  ClusterFlags cluster;
  CostFlags costs;
  SimulationFlags simulation;
  bool json = false;
};

core::ExitCode run(const ExplainCommandFlags& flags) {
  experiment::PlanInput input = read_plan(flags.file, flags.model, flags.cluster, flags.costs);
  const cost::Problem problem = input.problem();
  experiment::complete(problem, input.plan, flags.file);
  const plan::Plan& plan = input.plan;
  const sim::SimulationOptions options = flags.simulation.options();
  const auto outcome = experiment::evaluate(problem, score::scheduled(problem, plan),
                                            experiment::describe(problem, plan), options, false);
  for (const std::string& doubt : experiment::doubts(problem, outcome)) warn(doubt);
  const auto explained = experiment::plan_sentences(input, outcome, options);
  print(flags.json ? to_json(explained) : in_lines(explained, text_width(screen())));
  return core::ExitCode::done;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "explain", "Explain a plan file in ten sentences: division, speed, memory, what would help.");
  command->footer(
      "The sentences say how the work is divided, what limits the speed, what fills the memory, how far the "
      "plan is from a lower bound, which change would help most (each is simulated: batches, links and "
      "devices twice as large), and which training frameworks can run the plan. --json adds the simulated "
      "changes. `penstock simulate --explain` prints the numbers behind them.\n\n"
      "Example:\n"
      "  penstock explain plan.yaml");
  auto flags = std::make_shared<ExplainCommandFlags>();
  command->add_option("PLAN", flags->file, "the plan file")->required()->type_name("FILE");
  flags->model.add(*command, false);
  flags->cluster.add(*command, false);
  flags->costs.add(*command);
  flags->simulation.add(*command);
  add_json(*command, flags->json);
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
