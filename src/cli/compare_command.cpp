#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "aim_flags.hpp"
#include "command.hpp"
#include "compare_plans.hpp"
#include "file_set.hpp"
#include "framework_flag.hpp"
#include "heartbeat.hpp"
#include "page_output.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/answer_page.hpp"
#include "penstock/experiment/compare.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/search_limit.hpp"
#include "problem_flags.hpp"

namespace penstock::cli {
namespace {

struct CompareFlags {
  std::vector<std::string> plans;
  ProblemFlags problem;
  FrameworkFlag framework;
  std::string planners = "all";
  std::int64_t micro_batch = 0;
  std::string choose_by = "simulation";
  AimFlags aim;
  SimulationFlags simulation;
  TimeLimitFlag time_limit;
  MemoryLimitFlag memory_limit{"4GiB"};
  std::string csv;
  std::string output;
  PageOutput page;
  int threads = 0;
  bool json = false;
  WideFlag wide;
};

/// Reports on standard error who searches, for how long, and what was found.
experiment::CompareProgress told(std::optional<ProgressReporter>& alive) {
  return {[&alive](const planners::PlannerChoice& planner) { alive.emplace(written(planner)); },
          [&alive](const report::CellResult& row, std::size_t done, std::size_t all) {
            alive.reset();
            say(fmt::format("[{}/{}] {}: {}\n", done, all, row.planner,
                            row.samples_per_s ? fmt::format("{:.1f} samples/s, search {}", *row.samples_per_s,
                                                            core::show(core::Seconds(*row.search_s)))
                                              : row.status));
          }};
}

/// The first of them names the command that wrote them.
constexpr std::array kEndings = {".json", ".txt", ".csv", ".svg"};

void check_output(const std::string& output, bool force) {
  std::vector<std::string> files;
  for (const char* ending : kEndings) files.push_back(output + ending);
  check_replaceable(files, files.front(), "penstock compare", force);
}

void need_problem(const CompareFlags& flags) {
  for (const auto& [option, value] :
       {std::pair("--model", flags.problem.model.name), std::pair("--cluster", flags.problem.cluster.file)})
    if (value.empty())
      throw core::Error(core::ExitCode::usage,
                        fmt::format("{} is required, unless plan files are compared", option));
}

core::ExitCode run(CompareFlags flags, const CommandContext& session) {
  if (!flags.plans.empty())
    return compare_plans(flags.plans,
                         {flags.problem.cluster, flags.problem.costs, flags.simulation.options(),
                          flags.wide.screen(), flags.json},
                         session);
  need_problem(flags);
  if (!flags.output.empty()) check_output(flags.output, session.force);
  flags.page.check(session.force);
  const ThreadLimit limit(flags.threads);
  auto planners =
      from_command_line([&] { return experiment::planner_choices(flags.planners, "--planners"); });
  const LoadedProblem loaded = flags.framework.load(flags.problem);
  for (planners::PlannerChoice& planner : planners)
    if (loaded.whole_layers) experiment::keep_layers_whole(planner);
  experiment::SearchSetting setting{
      {}, flags.simulation.options(), flags.time_limit.value(), true, flags.memory_limit.value()};
  setting.options.judge_by_estimate = flags.choose_by == "estimate";
  setting.keep_trace = false;
  if (flags.micro_batch > 0) setting.options.micro_batch = flags.micro_batch;
  setting.runnable_by = flags.framework.runnable_by();

  const experiment::AimSetting aim = flags.aim.setting(loaded.problem().cluster);
  from_command_line([&] { experiment::check_aim(aim.aim, {"joint"}, setting.options.judge_by_estimate); });

  std::optional<ProgressReporter> alive;
  experiment::PlannerComparison outcome =
      experiment::compare(loaded.problem(), loaded.cell, planners, setting, session.stop(), told(alive), aim);
  alive.reset();
  outcome.assumptions = loaded.assumptions;
  const std::string table = experiment::comparison_table(outcome), csv = experiment::comparison_csv(outcome),
                    json = experiment::comparison_json(outcome, provenance(session)),
                    chart = experiment::comparison_svg(outcome);
  if (!flags.csv.empty()) core::write_file(flags.csv, csv);
  if (!flags.output.empty())
    for (std::size_t i = 0; const std::string* text : {&json, &table, &csv, &chart})
      core::write_file(flags.output + kEndings[i++], *text);
  if (flags.page.given())
    flags.page.write(
        experiment::comparison_page(loaded.problem(), outcome, setting.simulation, provenance(session)));
  const report::ScreenLimits screen = flags.wide.screen();
  if (flags.json)
    for (const std::string& doubt : experiment::doubts(outcome.rows)) warn(doubt);
  flags.json ? print(json) : print_page(experiment::comparison_table(outcome, screen), screen);
  return experiment::exit_code(outcome);
}

std::vector<std::string> all_planners() {
  auto names = planner_names();
  names.insert(names.begin(), "all");
  return names;
}

void add_plans(CLI::App& command, std::vector<std::string>& plans) {
  for (const char* name : {"--model", "--cluster"}) command.get_option(name)->required(false);
  command.add_option("PLAN", plans, "plan files to compare, instead of --model")->type_name("FILE");
}

/// Plan files take the place of the problem and of the search. Throws a usage error for an option of these.
void check_beside_plans(const CLI::App& command) {
  static const std::vector<std::string> shared = {
      "cluster",    "devices",          "framework", "reserved", "costs", "allow-foreign", "network",
      "collective", "pass-collectives", "json",      "columns",  "wide",  "threads",       "help",
      "force"};
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && !option->get_lnames().empty() &&
        std::ranges::find(shared, option->get_lnames().front()) == shared.end())
      throw core::Error(core::ExitCode::usage,
                        fmt::format("--{} cannot be used with plan files", option->get_lnames().front()));
}

constexpr const char* kCompareFooter =
    "Prints one row per plan, the fastest first; planners that found the same plan share a row. "
    "--columns all prints one row per planner and all columns. With --aim, rows are ranked by p95, "
    "memory or cost, and a column shows it; only joint searches for little memory, the other "
    "planners enter with their fastest plan.\n"
    "Columns: strategy (pipeline-, data- and tensor-parallel degrees, schedule, micro-batch of a "
    "replica, ZeRO stage, recomputation); MFU (recomputation does not count as work); memory of the "
    "fullest device; gap to a lower bound on the iteration of any plan of the same kind (replicas "
    "only, with ZeRO, or with tensor parallelism); estimated and simulated iteration; error of the "
    "estimate; time, states and memory of the search. Planners run one after the other, each on all "
    "threads. If a planner finds no plan, the reason is below the table. If none finds a plan, the "
    "exit code is that of `penstock plan`: 31 at a limit, 20 if no plan fits, 11 for bad input.\n"
    "With plan files there is no search: each is simulated, on its own cluster unless one is given.\n"
    "\n"
    "Examples:\n"
    "  penstock compare mine.yaml better.yaml\n"
    "  penstock compare --model mmt --cluster summit --devices 16 --mini-batch 256\n"
    "  penstock compare --model dlrm --cluster dgx_a100 --mini-batch 4096 \\\n"
    "      --planners graphpipe,spp --time-limit 10s --csv dlrm.csv\n"
    "  penstock compare --model mmt --cluster summit --devices 8 --mini-batch 128 --planners "
    "graphpipe,joint \\\n"
    "      --aim p95 --perturbation experiments/imperfect/bad_day.yaml\n"
    "  penstock compare --model vgg16 --cluster summit --mini-batch 512 \\\n"
    "      --planners all,piper:flush=true,pipedream:formula=code:straight=true";

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "compare", "Let planners compete on one problem, or compare plan files: same costs, one table.");
  command->footer(kCompareFooter);
  auto flags = std::make_shared<CompareFlags>();
  flags->problem.add_problem(*command);
  command
      ->add_option(
          "--planners", flags->planners,
          "all, or names separated by commas; options follow a name after colons, as in piper:flush=true")
      ->capture_default_str()
      ->type_name("NAME,...")
      ->check(suggest(all_planners()));
  command
      ->add_option(
          "--micro-batch", flags->micro_batch,
          "samples that a replica takes at a time, for every stage and planner; default: powers of two are "
          "tried")
      ->check(samples())
      ->type_name("b");
  command
      ->add_option("--choose-by", flags->choose_by,
                   "how to choose among a planner's plans: by simulation or estimate")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"simulation", "estimate"}));
  flags->framework.add(*command);
  flags->aim.add(*command);
  flags->problem.add_training(*command);
  flags->simulation.add(*command);
  flags->time_limit.add(*command);
  flags->memory_limit.add(*command);
  command->add_option("--csv", flags->csv, "write the table here as CSV")->type_name("FILE");
  command
      ->add_option(
          "-o,--output", flags->output,
          "write PATH.txt, PATH.csv, PATH.json with provenance, and PATH.svg (a bar per plan, with its gap "
          "and what its planner leaves out); replaces only files of compare")
      ->type_name("PATH");
  flags->page.add(*command);
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  flags->wide.add(*command);
  add_plans(*command, flags->plans);
  command->callback([flags, command, &action] {
    if (!flags->plans.empty()) check_beside_plans(*command);
    action = [flags](const CommandContext& s) { return run(*flags, s); };
  });
}

}  // namespace penstock::cli
