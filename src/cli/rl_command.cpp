// penstock rl: steps of a reinforcement-learning job, and the best split of its GPUs.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "command.hpp"
#include "framework_flag.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/experiment/rl_answer.hpp"
#include "penstock/experiment/search_limit.hpp"
#include "problem_flags.hpp"

namespace penstock::cli {
namespace {

struct RlFlags {
  std::string file, svg;
  int threads = 0;
  bool json = false;
  WideFlag wide;
};

/// Cluster of so many GPUs, in whole nodes: "8xH100x4". Throws Infeasible if they are not.
std::string gpu_cluster(const std::string& gpu, int gpus) {
  const cluster::RentedGpu& type = *cluster::parse_short_form("1x" + gpu)->type;
  if (gpus <= type.most) return fmt::format("{}x{}", gpus, gpu);
  if (gpus % type.most != 0)
    throw core::Infeasible(fmt::format("{} GPUs are no whole nodes of {} {}", gpus, type.most, gpu));
  return fmt::format("{}x{}x{}", type.most, gpu, gpus / type.most);
}

/// Simulated time of the plan that the planner finds on so many GPUs.
core::Seconds planned_time(const experiment::PlannedTraining& training, int gpus, core::StopToken stop) {
  ProblemFlags stated;
  stated.model.name = training.model;
  stated.model.parameters = training.parameters;
  stated.mini_batch = training.mini_batch;
  stated.cluster.file = gpu_cluster(training.gpu, gpus);
  LoadedProblem loaded = stated.load(true);
  loaded.cell.planner = planners::planner_choice(training.planner);
  if (loaded.whole_layers) experiment::keep_layers_whole(loaded.cell.planner);
  experiment::SearchSetting setting{{}, {}, {}};
  setting.keep_trace = false;
  return core::Seconds(*experiment::search(loaded.problem(), loaded.cell, setting, stop).row.iteration_s);
}

core::ExitCode run(const RlFlags& flags, const CommandContext& session) {
  const ThreadLimit limit(flags.threads);
  const core::Yaml file = core::Yaml::load(flags.file);
  experiment::RlJob job = experiment::read_rl_job(file);
  const core::StopToken stop = session.stop();
  const auto planned = [&](int gpus) { return planned_time(*job.planned, gpus, stop); };
  const experiment::RlAnswer answer = experiment::rl_answer(job, flags.file, planned, stop);
  if (!flags.svg.empty()) core::write_file(flags.svg, experiment::rl_svg(job, answer));
  const report::ScreenLimits screen = flags.wide.screen();
  flags.json ? print(experiment::rl_json(job, answer, provenance(session)))
             : print_page(experiment::rl_table(job, answer, screen), screen);
  return core::ExitCode::done;
}

}  // namespace

void add_rl(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "rl", "Simulate steps of a reinforcement-learning job, and find the best split of its GPUs.");
  command->footer(
      "A job file states the generator's rates and lengths, the trainer's times or a model to plan, the "
      "weight transfer and the steps by which weights may be old (lag). Generator and trainer take turns "
      "on all GPUs (colocated), or each has its own. Without a placement every split is simulated. Each is "
      "compared with the colocated, on-policy job.\n"
      "\n"
      "Examples:\n"
      "  penstock rl experiments/rl/grpo.yaml\n"
      "  penstock rl experiments/rl/grpo.yaml --svg splits.svg --json");
  auto flags = std::make_shared<RlFlags>();
  command->add_option("JOB", flags->file, "job file (docs/formats/rl_job.md)")->required()->type_name("FILE");
  command->add_option("--svg", flags->svg, "draw step times over the splits here")->type_name("FILE");
  add_threads(*command, flags->threads);
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
