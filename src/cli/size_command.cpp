// penstock size: how many GPUs a training run needs, for how long, at what cost.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <variant>

#include "file_set.hpp"
#include "framework_flag.hpp"
#include "heartbeat.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/experiment/search_limit.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/plan/plan_file.hpp"
#include "problem_flags.hpp"
#include "size_flags.hpp"

namespace penstock::cli {
namespace {

struct SizeFlags {
  ProblemFlags problem;
  FrameworkFlag framework;
  SizeGoalFlags goal;
  SizeMachineFlags machine;
  std::string gpus;
  std::string planner;
  SimulationFlags simulation;
  TimeLimitFlag time_limit;
  std::string output;
  int threads = 0;
  bool json = false;
  WideFlag wide;
};

/// One word of --gpus.
struct GpuChoice {
  std::string name;
  bool exact = false;     ///< a cluster; else a GPU, in clusters of whole nodes
  std::string cluster{};  ///< that cluster, or one node
};

GpuChoice gpu_choice(const std::string& word) {
  const auto known = cluster_names();
  const bool file = word.find_first_of("./") != word.npos || std::ranges::find(known, word) != known.end() ||
                    (!word.empty() && std::isdigit(static_cast<unsigned char>(word.front())));
  if (file) return {word, true, word};
  const cluster::RentedGpu& gpu = *cluster::parse_short_form("1x" + word)->type;
  return {std::string(gpu.name), false, fmt::format("{}x{}", gpu.most, gpu.name)};
}

std::vector<GpuChoice> gpu_choices(const std::string& text) {
  std::vector<GpuChoice> out;
  for (const std::string& word : CLI::detail::split(text, ',')) out.push_back(gpu_choice(word));
  return out;
}

void check_goal(const experiment::SizingGoal& goal, const std::vector<GpuChoice>& gpus) {
  const auto open = std::ranges::find(gpus, false, &GpuChoice::exact);
  if (open != gpus.end() && !goal.days)
    throw core::Error(
        core::ExitCode::usage,
        fmt::format(
            "--days is required for {}: only an exact cluster such as {}x16 has the days as its answer",
            open->name, open->cluster));
}

void check_tokens(const ModelFlags& model) {
  if (!graph::tokens(experiment::load_model(model.ref())))
    throw core::Error(
        core::ExitCode::usage,
        fmt::format("--tokens: samples of {} have no tokens; penstock plan finds a plan for it", model.name));
}

/// Planners for this model: Megatron-LM's rows where it is one.
experiment::SizingPlanners planners_for(const LoadedProblem& loaded, const std::string& last) {
  const bool row = std::holds_alternative<plan::LayerRow>(plan::layer_row(loaded.graph));
  const std::string fast = row ? "megatron:units=layers" : "joint:evaluations=0:starts=quick",
                    usual = row ? "megatron:units=layers:max_context_parallel=16" : "joint:evaluations=200";
  experiment::SizingPlanners out{planners::planner_choice(fast),
                                 planners::planner_choice(last.empty() ? usual : last)};
  if (loaded.whole_layers) experiment::keep_layers_whole(out.fast);
  if (loaded.whole_layers) experiment::keep_layers_whole(out.last);
  return out;
}

/// Names the batch by its tokens: its samples differ from cluster to cluster.
void name_batch(const ProblemFlags& problem, experiment::Assumptions& assumptions) {
  const std::string tokens = problem.batch_tokens();
  const auto batch = std::ranges::find(assumptions, "mini_batch", &experiment::ProblemAssumption::key);
  if (!tokens.empty() && batch != assumptions.end())
    batch->words = tokens + " tokens per iteration, rounded to the devices";
}

/// A plan to be written, with the graph that names its operators.
struct AnswerPlan {
  const graph::OpGraph* graph;
  const plan::Plan* plan;
};

std::vector<AnswerPlan> answer_plans(const experiment::SizingReport& report,
                                     const std::vector<std::unique_ptr<LoadedProblem>>& loaded) {
  std::vector<AnswerPlan> out;
  for (std::size_t a = 0; a < report.answers.size(); ++a) {
    const experiment::SizingAnswer& answer = report.answers[a];
    for (std::size_t at = 0; at < answer.tried.size(); ++at)
      if (answer.smallest == at || answer.cheapest == at)
        out.push_back({&loaded[a]->graph, &*answer.tried[at].outcome.plan});
  }
  return out;
}

std::vector<std::string> output_files(const std::string& path, std::size_t plans) {
  std::vector<std::string> out;
  for (const char* ending : {".json", ".txt", ".csv", ".svg"}) out.push_back(path + ending);
  for (std::size_t p = 1; p <= plans; ++p) out.push_back(fmt::format("{}-{}.yaml", path, p));
  return out;
}

void write_sizes(const std::string& path, const experiment::SizingReport& report, const std::string& json,
                 const std::vector<AnswerPlan>& plans) {
  core::write_file(path + ".json", json);
  core::write_file(path + ".txt", experiment::sizing_table(report));
  core::write_file(path + ".csv", experiment::sizing_csv(report));
  if (const std::string svg = experiment::sizing_svg(report); !svg.empty())
    core::write_file(path + ".svg", svg);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const std::string file = fmt::format("{}-{}.yaml", path, p + 1);
    core::write_file(file, plan::to_yaml(*plans[p].graph, plan::written_to(file, *plans[p].plan)));
  }
}

core::ExitCode size_exit_code(const experiment::SizingReport& report, core::StopToken stop) {
  if (stop.ended()) return core::ExitCode::interrupted;
  const auto any = [&](auto holds) { return std::ranges::any_of(report.answers, holds); };
  if (any([](const auto& answer) { return answer.smallest.has_value(); })) return core::ExitCode::done;
  return any([](const auto& answer) { return !answer.complete; }) ? core::ExitCode::limit
                                                                  : core::ExitCode::infeasible;
}

/// Throws a usage error for a budget without prices.
void check_prices(const experiment::SizingGoal& goal, const experiment::SizingMachine& machine,
                  const LoadedProblem& loaded) {
  if (!goal.dollars) return;
  for (const cluster::DeviceType& type : loaded.cluster.types())
    if (!type.price && !machine.prices.contains(core::lower_case(type.name)))
      throw core::Error(
          core::ExitCode::usage,
          fmt::format("--budget needs the price of {}: --price {}=DOLLARS", type.name, type.name));
}

/// Sizes clusters of one word of --gpus. `framework`: a copy, since it may choose per problem.
experiment::SizingAnswer answer_for(const SizeFlags& flags, const GpuChoice& gpu, FrameworkFlag framework,
                                    const experiment::SizingGoal& goal, core::StopToken stop,
                                    std::unique_ptr<LoadedProblem>& loaded) {
  ProblemFlags stated = flags.problem;
  stated.cluster.file = gpu.cluster;
  loaded = std::make_unique<LoadedProblem>(framework.load(stated));
  check_prices(goal, flags.machine.machine(), *loaded);
  experiment::SearchSetting setting{{}, flags.simulation.options(), {}};
  setting.keep_trace = false;
  setting.runnable_by = framework.runnable_by();
  const experiment::SizingProblem problem{
      gpu.name, loaded->graph, *loaded->costs, loaded->cell, [&](std::int64_t devices) {
        const std::int64_t samples = flags.problem.samples_on(*loaded, devices);
        return flags.problem.batch_tokens().empty() ? samples : experiment::shared_samples(samples, devices);
      }};
  ProgressReporter alive("size");
  const auto told = [&alive](const std::string& line) { alive.tell(line); };
  const auto size = gpu.exact ? experiment::size_cluster : experiment::size_clusters;
  return size(problem, goal, flags.machine.machine(), planners_for(*loaded, flags.planner), setting, stop,
              told);
}

/// Assumptions of all answers; those of later ones only where they differ from the first's.
experiment::Assumptions joined_assumptions(const std::vector<std::unique_ptr<LoadedProblem>>& loaded,
                                           const std::vector<GpuChoice>& gpus) {
  experiment::Assumptions out = loaded.front()->assumptions;
  for (std::size_t g = 1; g < loaded.size(); ++g)
    for (experiment::ProblemAssumption each : loaded[g]->assumptions) {
      const auto& first = loaded.front()->assumptions;
      const auto same = std::ranges::find(first, each.key, &experiment::ProblemAssumption::key);
      if (each.key == "mini_batch" || (same != first.end() && same->words == each.words)) continue;
      each.key += "_" + gpus[g].name;
      each.words += " for " + gpus[g].name;
      out.push_back(std::move(each));
    }
  return out;
}

core::ExitCode run(const SizeFlags& flags, const CommandContext& session) {
  const ThreadLimit limit(flags.threads);
  const auto gpus = from_command_line([&] { return gpu_choices(flags.gpus); });
  if (!flags.planner.empty()) from_command_line([&] { return planners::planner_choice(flags.planner); });
  experiment::SizingReport report{flags.goal.goal(), flags.problem.model.name, {}, {}};
  const experiment::SizingMachine machine = flags.machine.machine();
  check_goal(report.goal, gpus);
  check_tokens(flags.problem.model);
  if (!flags.output.empty()) {
    const auto files = output_files(flags.output, 2 * gpus.size());
    check_replaceable(files, files.front(), "penstock size", session.force);
  }
  core::StopToken stop = session.end_search();
  if (const auto time = flags.time_limit.value()) stop = stop.within(*time);

  std::vector<std::unique_ptr<LoadedProblem>> loaded(gpus.size());
  for (std::size_t g = 0; g < gpus.size(); ++g)
    report.answers.push_back(answer_for(flags, gpus[g], flags.framework, report.goal, stop, loaded[g]));
  report.assumptions = joined_assumptions(loaded, gpus);
  name_batch(flags.problem, report.assumptions);
  for (auto& line : experiment::sizing_assumptions(machine, report.answers, flags.machine.stated()))
    report.assumptions.push_back(std::move(line));

  const std::string json = experiment::sizing_json(report, provenance(session));
  if (!flags.output.empty()) write_sizes(flags.output, report, json, answer_plans(report, loaded));
  const report::ScreenLimits screen = flags.wide.screen();
  flags.json ? print(json) : print_page(experiment::sizing_table(report, screen), screen);
  if (std::ranges::any_of(report.answers, [](const auto& answer) { return !answer.complete; }))
    say(fmt::format("{} ended the search; better answers may exist\n",
                    stop.ended() ? "an interrupt" : "a limit"));
  return size_exit_code(report, stop);
}

constexpr const char* kSizeFooter =
    "For each GPU, clusters of whole nodes are tried until the smallest one is found that trains the tokens in the "
    "days, also if costs are off by the margin. An exact cluster (8xH100x128) is one try; without --days its days are the "
    "answer. The problem is that of `penstock plan`, except that batches smaller than the devices are rounded, by an eighth "
    "at most, so that replicas can share them. Days include failures: checkpoints are written at the interval "
    "of Daly (2006), work since the last one is lost, and a restart follows. Energy is that of all devices at "
    "data-sheet power. --columns all shows all clusters that were tried. Exit code 20 if none meets the goal.\n"
    "\n"
    "Examples:\n"
    "  penstock size --model llama3-70b --tokens 2T --days 30 --gpus H100,B200\n"
    "  penstock size --model llama3-8b --tokens 1T --gpus 8xH100x128 --checkpoint 60s\n"
    "  penstock size --model llama3-70b --tokens 100B --days 14 --budget 1M$ --gpus H100 \\\n"
    "      --price H100=2.5 -o size";

void add_search_flags(CLI::App& command, SizeFlags& flags) {
  command
      .add_option(
          "--gpus", flags.gpus,
          "GPUs (H100) and exact clusters (8xH100x128, a built-in cluster or a file), separated by commas")
      ->required()
      ->type_name("NAME,...");
  command
      .add_option(
          "--planner", flags.planner,
          "planner for the answers, with options behind colons; all clusters are first tried with megatron. "
          "joint may find faster plans and takes minutes. Default: megatron:max_context_parallel=16; for models "
          "that are no row of layers joint:evaluations=200")
      ->type_name("NAME");
}

}  // namespace

void add_size(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "size", "Find the smallest and the cheapest cluster that trains so many tokens in so many days.");
  command->footer(kSizeFooter);
  auto flags = std::make_shared<SizeFlags>();
  flags->problem.model.add(*command, true);
  flags->goal.add(*command);
  add_search_flags(*command, *flags);
  flags->machine.add(*command);
  flags->problem.add_batch(*command);
  flags->problem.cluster.add_host(*command, true);
  flags->framework.add(*command);
  flags->problem.add_training(*command);
  flags->simulation.add(*command);
  flags->time_limit.add(*command);
  command
      ->add_option(
          "-o,--output", flags->output,
          "write PATH.txt, PATH.csv, PATH.json with provenance, PATH.svg, days over devices, and PATH-1.yaml, "
          "PATH-2.yaml, ..., the plans of the answers; replaces only what size wrote")
      ->type_name("PATH");
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
