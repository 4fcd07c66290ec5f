#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "command.hpp"
#include "heartbeat.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/report/ranking.hpp"
#include "penstock/score/problem_bound.hpp"

namespace penstock::cli {
namespace {

struct Flags {
  ModelFlags model;
  ClusterFlags cluster;
  std::string planners = "all";
  std::string optimizer = "sgd";
  std::int64_t mini_batch = 0;
  CostFlags costs;
  std::string choose_by = "simulation";
  CompressionFlags compression;
  SimulationFlags simulation;
  TimeLimitFlag time_limit;
  MemoryLimitFlag memory_limit{"4GiB"};
  std::string csv;
  std::string output;
  int threads = 0;
  bool json = false;
};

using planners::PlannerChoice;

/// Those named in the order given; "all" stands for the whole catalogue.
std::vector<PlannerChoice> chosen(const std::string& text) {
  std::vector<PlannerChoice> out;
  const auto add = [&](const std::string& planner) {
    const PlannerChoice choice = planners::planner_choice(planner);
    if (std::find(out.begin(), out.end(), choice) != out.end())
      throw core::BadInput("--planners: " + planner + " is given twice");
    out.push_back(choice);
  };
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');)
    for (const std::string& planner : item == "all" ? planner_names() : std::vector{item}) add(planner);
  if (out.empty()) throw core::BadInput("--planners: expected all, or names with commas between");
  return out;
}

struct Outcome {
  std::vector<report::CellResult> rows;
  std::set<score::PlanFamily> families{score::PlanFamily::replicated};  ///< of the plans found
  bool interrupted = false;
};

/// A planner that cannot take the problem costs no other its row.
void add_row(const cost::Problem& problem, const experiment::Cell& cell,
             const experiment::SearchSetting& setting, const Session& session, Outcome& out) {
  const Heartbeat alive(written(cell.planner));
  try {
    auto found = experiment::try_search(problem, cell, setting, session.stop());
    if (found.plan) out.families.insert(score::family_of(*found.plan));
    out.rows.push_back(std::move(found.row));
  } catch (const core::BadInput& e) {
    auto row = experiment::describe(problem, cell);
    row.status = std::string("bad input: ") + e.what();
    out.rows.push_back(std::move(row));
  }
}

/// One planner after the other, each with all threads.
Outcome compare(const cost::Problem& problem, experiment::Cell cell,
                const std::vector<PlannerChoice>& planners, const experiment::SearchSetting& setting,
                const Session& session) {
  Outcome out;
  try {
    for (const PlannerChoice& planner : planners) {
      cell.planner = planner;
      add_row(problem, cell, setting, session, out);
      const auto& row = out.rows.back();
      fmt::print(stderr, "[{}/{}] {}: {}\n", out.rows.size(), planners.size(), row.planner,
                 row.samples_per_s ? fmt::format("{:.1f} samples/s, search {}", *row.samples_per_s,
                                                 core::show(core::Seconds(*row.search_s)))
                                   : row.status);
    }
  } catch (const core::Interrupted&) {
    out.interrupted = true;
  }
  out.rows = report::ranked(std::move(out.rows));
  return out;
}

/// What no plan of a family beats.
std::string bound_line(const cost::Problem& problem, score::PlanFamily family, score::Reduction reduction) {
  try {
    const auto best = score::problem_bounds(problem, reduction, family).best();
    return fmt::format("no plan with a flush takes less than {} {} ({})\n", core::show(best.time),
                       name(family), name(best.kind));
  } catch (const core::Infeasible& e) {
    return fmt::format("no plan fits {}: {}\n", name(family), e.what());
  }
}

/// What the table is about, and what no plan beats, by what its plans divide.
std::string heading(const cost::Problem& problem, const experiment::Cell& cell,
                    const sim::SimulationOptions& simulation, const std::set<score::PlanFamily>& families) {
  const auto row = experiment::describe(problem, cell);
  std::string what = fmt::format("{}, {} devices of {}, mini-batch {}\n", row.model, row.devices, row.cluster,
                                 row.mini_batch);
  if (row.costs != "analytic") what += "costs: " + row.costs + "\n";
  for (const score::PlanFamily family : families)
    what += bound_line(problem, family, experiment::reduction(simulation));
  return what + "\n";
}

core::ExitCode exit_code(const Outcome& outcome) {
  if (outcome.interrupted) return core::ExitCode::interrupted;
  const auto& rows = outcome.rows;
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.iteration_s.has_value(); }))
    return core::ExitCode::done;
  return core::ExitCode::infeasible;
}

core::ExitCode run(const Flags& flags, const Session& session) {
  const ThreadLimit limit(flags.threads);
  const auto planners = chosen(flags.planners);
  const graph::OpGraph graph = experiment::load_model(flags.model.ref());
  const cluster::Cluster cluster = experiment::load_cluster(flags.cluster.ref());
  const auto costs = flags.costs.load(cluster);
  experiment::Cell cell{
      flags.model.ref(), flags.cluster.ref(), {}, {flags.mini_batch, plan::optimizer(flags.optimizer)}, {}};
  cell.cluster.devices = static_cast<int>(cluster.size());
  flags.compression.apply(cell.training.compression);
  const cost::Problem problem{graph, cluster, *costs, cell.training};
  experiment::SearchSetting setting{
      {}, flags.simulation.options(), flags.time_limit.value(), true, flags.memory_limit.value()};
  setting.options.judge_by_estimate = flags.choose_by == "estimate";

  const Outcome outcome = compare(problem, cell, planners, setting, session);
  const std::string table =
      heading(problem, cell, setting.simulation, outcome.families) + report::ranking(outcome.rows);
  const std::string json = report::to_json(outcome.rows, provenance(session)),
                    csv = report::to_csv(outcome.rows);
  if (!flags.csv.empty()) core::write_file(flags.csv, csv);
  if (!flags.output.empty())
    for (const auto& [ending, text] : {std::pair{".txt", &table}, {".csv", &csv}, {".json", &json}})
      core::write_file(flags.output + ending, *text);
  fmt::print("{}", flags.json ? json : table);
  return exit_code(outcome);
}

std::vector<std::string> all_planners() {
  auto names = planner_names();
  names.insert(names.begin(), "all");
  return names;
}

constexpr const char* kFooter =
    "Prints one line per planner, the fastest plan first: estimated and simulated iteration, optimism "
    "(estimated over\n"
    "simulated), the gap to a lower bound on the iteration of any plan that divides as much (nothing but "
    "samples, with\n"
    "ZeRO weights, with tensor parallelism operators), memory of the fullest device, search time, states\n"
    "and growth of the process's memory during the search. Planners run one after the other, each on all "
    "threads. One that\n"
    "finds no plan, or cannot take the problem, has its reason below the table; exit code 20 when none "
    "finds any.\n\n"
    "Examples:\n"
    "  penstock compare --model mmt --cluster experiments/clusters/summit.yaml --devices 16 --mini-batch "
    "256\n"
    "  penstock compare --model dlrm --cluster experiments/clusters/dgx_a100.yaml --mini-batch 4096 \\\n"
    "      --planners graphpipe,spp --time-limit 10s --csv dlrm.csv\n"
    "  penstock compare --model vgg16 --cluster experiments/clusters/summit.yaml --mini-batch 512 \\\n"
    "      --planners all,piper:flush=true,pipedream:formula=code:straight=true";

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "compare", "Let planners compete on one problem: same costs, same simulator, one table.");
  command->footer(kFooter);
  auto flags = std::make_shared<Flags>();
  flags->model.add(*command, true);
  flags->cluster.add(*command, true);
  command
      ->add_option("--planners", flags->planners,
                   "all, or names with commas between, a planner's options behind colons (penstock planners)")
      ->capture_default_str()
      ->type_name("NAME,...")
      ->check(suggest(all_planners()));
  command->add_option("--mini-batch", flags->mini_batch, "samples per iteration")
      ->required()
      ->check(samples())
      ->type_name("B");
  command->add_option("--optimizer", flags->optimizer, "sgd, momentum or adam: its state takes memory")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"sgd", "momentum", "adam"}));
  flags->costs.add(*command);
  command
      ->add_option("--choose-by", flags->choose_by,
                   "simulation or estimate: how planners that try several plans pick one")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"simulation", "estimate"}));
  flags->compression.add(*command);
  flags->simulation.add(*command);
  flags->time_limit.add(*command);
  flags->memory_limit.add(*command);
  command->add_option("--csv", flags->csv, "write the table here as CSV")->type_name("FILE");
  command->add_option("-o,--output", flags->output, "write PATH.txt, PATH.csv, and PATH.json with provenance")
      ->type_name("PATH");
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
