#include <fmt/format.h>

#include "command.hpp"
#include "plan_flags.hpp"

namespace penstock::cli {
namespace {

struct PlanFlags {
  ModelFlags model;
  ClusterFlags cluster;
  std::string planner = "graphpipe";
  std::vector<std::string> planner_options;
  std::string optimizer = "sgd";
  std::int64_t mini_batch = 0;
  CostFlags costs;
  planners::SearchOptions options;
  std::int64_t micro_batch = 0, pipeline_micro_batch = 0;
  std::string choose_by = "simulation";
  CompressionFlags compression;
  PrecisionFlag precision;
  BucketFlag bucket;
  PlanSearch search;
};

planners::PlannerChoice chosen(const PlanFlags& flags) {
  planners::PlannerChoice out{flags.planner};
  for (const std::string& option : flags.planner_options) planners::set_option(out, option);
  return out;
}

core::ExitCode run(const PlanFlags& flags, const Session& session) {
  flags.search.output.check();
  const ThreadLimit limit(flags.search.threads);
  const auto planner = from_command_line([&] { return chosen(flags); });
  plan::ClusterRef cluster_ref = flags.cluster.ref();
  plan::Training training{flags.mini_batch, plan::optimizer(flags.optimizer)};
  flags.compression.apply(training.compression);
  flags.bucket.apply(training);
  const plan::ModelRef model = flags.precision.apply(training, flags.model.ref());
  const graph::OpGraph graph = experiment::load_model(model);
  const cluster::Cluster stated = experiment::load_cluster(cluster_ref);
  cluster_ref.devices = static_cast<int>(stated.size());
  const auto costs = flags.costs.load(stated);
  const cluster::Cluster cluster = cost::measured_by(*costs, stated);
  const cost::Problem problem{graph, cluster, *costs, training};
  experiment::SearchSetting setting = flags.search.setting(flags.options);
  if (flags.micro_batch > 0) setting.options.micro_batch = flags.micro_batch;
  if (flags.pipeline_micro_batch > 0) setting.options.pipeline_micro_batch = flags.pipeline_micro_batch;
  setting.options.judge_by_estimate = flags.choose_by == "estimate";

  const auto outcome = flags.search.run(written(planner), problem,
                                        {model, cluster_ref, planner, training, {}}, setting, session.stop());
  flags.search.leave(problem, outcome);
  flags.search.show(problem, outcome);
  return core::ExitCode::done;
}

}  // namespace

namespace {

/// What decides the search, beside the problem.
void add_search(CLI::App& command, PlanFlags& flags) {
  command
      .add_option("--micro-batch", flags.micro_batch,
                  "pin the samples that a replica takes at a time, in every stage; where replicas split a "
                  "micro-batch, stages then "
                  "have equally many, unless --per-stage-micro-batch; default: all powers of two are tried")
      ->check(samples())
      ->type_name("b");
  command
      .add_option("--pipeline-micro-batch", flags.pipeline_micro_batch,
                  "pin instead the samples that flow through all stages at a time, whose replicas split them "
                  "(GraphPipe's b); not for planners whose replicas take whole micro-batches")
      ->check(samples())
      ->type_name("b");
  command.add_flag("--per-stage-micro-batch", flags.options.per_stage_micro_batch,
                   "let every stage have a size of its own");
  command.add_option("--k", flags.options.k, "k of the kFkB schedule")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("K")
      ->capture_default_str();
  command.add_flag("--any-degree", flags.options.any_degree,
                   "try replica counts of any size, not only powers of two");
  command
      .add_option("--choose-by", flags.choose_by,
                  "what picks the best micro-batch size: simulation or estimate. The estimate, a closed "
                  "formula, is faster")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"simulation", "estimate"}));
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "plan", "Find a plan for one model on one cluster, simulate it, and write the plan file.");
  command->footer(
      "Prints one line per stage: operators, devices, micro-batch of a replica, samples in flight, time per "
      "sample, memory\n"
      "by kind per device; then the plan in one line (pipeline-, data- and tensor-parallel degrees, "
      "schedule, micro-batch of\n"
      "a replica, ZeRO stage, stages that recompute) with its throughput, model FLOP/s of a GPU and their "
      "share of its peak\n"
      "(MFU; recomputation counts as no work); then depth, estimated and simulated iteration, lower bounds "
      "and what the\n"
      "search took.\n\n"
      "Examples:\n"
      "  penstock plan --model mmt --cluster summit --devices 8 --mini-batch 128 "
      "-o plan.yaml\n"
      "  penstock plan --model dlrm -p bag=concat --planner spp --cluster dgx_a100 "
      "\\\n"
      "      --mini-batch 4096 --optimizer adam --json");
  auto flags = std::make_shared<PlanFlags>();
  flags->model.add(*command, true);
  flags->cluster.add(*command, true);
  command->add_option("--planner", flags->planner, "planner that searches (penstock planners)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of(planner_names()));
  command
      ->add_option("--option", flags->planner_options,
                   "an option of this planner; may be repeated (penstock planners lists them)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--mini-batch", flags->mini_batch, "samples per iteration")
      ->required()
      ->check(samples())
      ->type_name("B");
  command->add_option("--optimizer", flags->optimizer, "sgd, momentum or adam: its state takes memory")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"sgd", "momentum", "adam"}));
  flags->costs.add(*command);
  add_search(*command, *flags);
  flags->compression.add(*command);
  flags->precision.add(*command);
  flags->bucket.add(*command);
  flags->search.add(*command);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
