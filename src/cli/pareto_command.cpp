// penstock pareto: plans between which only a user can choose.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "file_set.hpp"
#include "framework_flag.hpp"
#include "heartbeat.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/pareto.hpp"
#include "penstock/experiment/search_limit.hpp"
#include "penstock/plan/plan_file.hpp"
#include "problem_flags.hpp"

namespace penstock::cli {
namespace {

struct ParetoFlags {
  ProblemFlags problem;
  FrameworkFlag framework;
  std::int64_t evaluations = 2000;
  SimulationFlags simulation;
  TimeLimitFlag time_limit;
  std::string output;
  int threads = 0;
  bool json = false;
  WideFlag wide;
};

/// The front as results with provenance, and what a sample costs where devices have prices.
std::string front_json(const experiment::ParetoPlans& found, const experiment::Assumptions& assumptions,
                       const report::Provenance& provenance) {
  std::vector<report::CellResult> rows;
  for (const experiment::ParetoPlan& plan : found.plans)
    if (plan.front) rows.push_back(plan.outcome.row);
  auto out = nlohmann::ordered_json::parse(report::to_json(rows, provenance));
  out["assumptions"] = nlohmann::ordered_json::parse(json_text(assumptions));
  for (std::size_t at = 0; const experiment::ParetoPlan& plan : found.plans) {
    if (!plan.front) continue;
    if (plan.dollars) out["results"][at]["dollars_per_sample"] = *plan.dollars;
    ++at;
  }
  return out.dump(2) + "\n";
}

std::vector<std::string> endings(std::size_t plans) {
  std::vector<std::string> out = {".json", ".txt", ".svg"};
  for (std::size_t p = 1; p <= plans; ++p) out.push_back(fmt::format("-{}.yaml", p));
  return out;
}

/// PATH.json names the command that wrote them.
void check_output(const std::string& path, std::size_t plans, bool force) {
  std::vector<std::string> files;
  for (const std::string& ending : endings(plans)) files.push_back(path + ending);
  check_replaceable(files, files.front(), "penstock pareto", force);
}

void write(const std::string& path, const graph::OpGraph& graph, const experiment::ParetoPlans& found,
           const std::string& table, const std::string& json) {
  std::size_t number = 0;
  for (const experiment::ParetoPlan& plan : found.plans)
    if (plan.front) {
      const std::string file = fmt::format("{}-{}.yaml", path, ++number);
      core::write_file(file, plan::to_yaml(graph, plan::written_to(file, *plan.outcome.plan)));
    }
  core::write_file(path + ".txt", table);
  core::write_file(path + ".svg", experiment::pareto_picture(found));
  core::write_file(path + ".json", json);
}

core::ExitCode run(ParetoFlags flags, const CommandContext& session) {
  const ThreadLimit limit(flags.threads);
  LoadedProblem loaded = flags.framework.load(flags.problem);
  if (!flags.output.empty())
    check_output(flags.output, experiment::most_pareto_plans(loaded.cluster.size()), session.force);
  loaded.cell.planner = {"joint", {{"evaluations", std::to_string(flags.evaluations)}}};
  if (loaded.whole_layers) experiment::keep_layers_whole(loaded.cell.planner);
  experiment::SearchSetting setting{{}, flags.simulation.options(), flags.time_limit.value()};
  setting.keep_trace = false;
  setting.runnable_by = flags.framework.runnable_by();
  std::optional<ProgressReporter> alive(std::in_place, "pareto");
  const auto told = [&alive](const report::CellResult& row) {
    alive->tell(fmt::format("on {} device{} iteration {}, memory {}", row.devices,
                            row.devices == 1 ? "" : "s", core::show(core::Seconds(*row.iteration_s)),
                            core::show(core::Bytes(*row.peak_memory_bytes))));
  };
  const auto found =
      experiment::pareto_search(loaded.problem(), loaded.cell, setting, session.end_search(), told);
  alive.reset();
  const std::string json = front_json(found, loaded.assumptions, provenance(session)),
                    assumed = in_words(loaded.assumptions) + "\n";
  const report::ScreenLimits screen = flags.wide.screen();
  if (!flags.output.empty())
    write(flags.output, loaded.graph, found, experiment::pareto_table(found) + assumed, json);
  flags.json ? print(json) : print_page(experiment::pareto_table(found, screen) + assumed, screen);
  for (const experiment::ParetoPlan& plan : found.plans)
    for (const std::string& doubt : experiment::doubts(loaded.problem(), plan.outcome))
      warn(fmt::format("{}: {}", *plan.outcome.row.strategy, doubt));
  if (!found.complete)
    say(fmt::format("{} ended the search; better plans may exist\n",
                    found.interrupted ? "an interrupt" : "a limit"));
  return found.interrupted ? core::ExitCode::interrupted : core::ExitCode::done;
}

}  // namespace

void add_pareto(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "pareto",
      "Find all good trade-offs of time, memory, devices and money: plans that no other plan dominates.");
  command->footer(
      "Planner joint searches on all devices and on the first 1, 2, 4, ... of them: for the fastest "
      "plan, then for the least memory of the fullest device among plans at most 5, 10, 25, 50 and 100 "
      "% slower. The table has the plans that no other plan dominates, that is: no other is at least "
      "equal in all and better in one of time, memory, devices, and dollars per sample (if the cluster "
      "file has prices). That is six searches for each number of devices, which takes minutes; "
      "--evaluations makes them shorter. Ctrl-C ends them with the plans found so far and exit code "
      "30.\n"
      "\n"
      "Example:\n"
      "  penstock pareto --model case_study --cluster p3_16xlarge --devices 8 --mini-batch 64 "
      "--optimizer adam \\\n"
      "      -o front");
  auto flags = std::make_shared<ParetoFlags>();
  flags->problem.add_problem(*command);
  command->add_option("--evaluations", flags->evaluations, "search budget: plans to evaluate in each search")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30).description(""));
  flags->framework.add(*command);
  flags->problem.add_training(*command);
  flags->simulation.add(*command);
  flags->time_limit.add(*command);
  command
      ->add_option("-o,--output", flags->output,
                   "write PATH.txt, PATH.json with provenance, PATH.svg, the picture, and PATH-1.yaml, "
                   "PATH-2.yaml, ..., the plans by their numbers; replaces only what pareto wrote")
      ->type_name("PATH");
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
