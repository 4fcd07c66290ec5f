// penstock export: a plan in a training framework's own words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/validate.hpp"
#include "plan_input.hpp"

namespace penstock::cli {
namespace {

using frameworks::Framework;

struct ExportFlags {
  std::string file, framework, output, csv, nearest;
  ModelFlags model;
  ClusterFlags cluster;
  CostFlags costs;
};

std::vector<std::string> framework_names() {
  std::vector<std::string> out;
  for (const Framework& each : frameworks::catalogue()) out.push_back(each.name);
  return out;
}

/// The next plan that the framework can run, if one is valid, and how it compares in a line.
struct Nearest {
  std::optional<plan::Plan> plan;
  std::string words;
};

std::string compared(double before, double after) {
  const double percent = (after / before - 1) * 100;
  const std::string than = std::abs(percent) < 0.05 ? "as long as the plan"
                                                    : fmt::format("{:.1f} % {}", std::abs(percent),
                                                                  percent > 0 ? "longer" : "less");
  return fmt::format("the nearest plan that it can run takes {:.3f} ms per iteration in simulation, {}",
                     after * 1e3, than);
}

Nearest find_nearest(const ExportFlags& flags, const Framework& framework, const cost::Problem& problem,
                     const plan::Plan& plan) {
  auto next = frameworks::nearest(framework, problem.graph, plan);
  if (!next) return {{}, "no plan near it is known that it can run"};
  const cost::Problem asked{problem.graph, problem.cluster, problem.costs, next->training};
  derive_in_flight(asked, *next, flags.file);
  if (const auto violations = score::violations(asked, *next); !violations.empty())
    return {{}, "the nearest plan that it could run is not valid: " + violations.front()};
  const auto time = [](const cost::Problem& of, const plan::Plan& one) {
    return experiment::simulated_time(of, {})(one).value();
  };
  std::string words = compared(time(problem, plan), time(asked, *next));
  return {std::move(next), std::move(words)};
}

/// The first few of them, a line each.
std::string in_lines(const std::vector<std::string>& refusals) {
  constexpr std::size_t kShown = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, refusals.size()); ++i) out += "\n  " + refusals[i];
  return refusals.size() <= kShown ? out : out + fmt::format("\n  and {} more", refusals.size() - kShown);
}

/// The plan to hand over: as it is, or with --nearest the one that is near it; all others are refused.
plan::Plan handed_over(const ExportFlags& flags, const Framework& framework, const cost::Problem& problem,
                       const plan::Plan& plan) {
  const auto why = frameworks::refusals(framework, problem.graph, plan, !flags.csv.empty());
  if (why.empty()) return plan;
  const Nearest nearest = find_nearest(flags, framework, problem, plan);
  const std::string message = in_lines(why) + "\n  " + nearest.words;
  if (!nearest.plan || flags.nearest.empty())
    throw core::Error(core::ExitCode::invalid_plan,
                      fmt::format("{}: {} cannot run this plan{}{}", flags.file, framework.title, message,
                                  nearest.plan ? " (--nearest FILE)" : ""));
  core::write_file(flags.nearest,
                   plan::to_yaml(problem.graph, plan::written_to(flags.nearest, *nearest.plan)));
  say(fmt::format("{} cannot run {}; {} instead{}\n", framework.title, flags.file, flags.nearest, message));
  return *nearest.plan;
}

core::ExitCode run(const ExportFlags& flags) {
  const Framework& framework = frameworks::framework_named(flags.framework);
  if (!flags.csv.empty() && !framework.can.any_order)
    throw core::Error(core::ExitCode::usage,
                      "--csv: " + framework.title + " reads no order of passes from a file");
  auto [graph, costs, cluster, plan] = read_plan(flags.file, flags.model, flags.cluster, flags.costs);
  plan.model = experiment::resolved(plan.model);  // writers name modules by the zoo's families
  if (const auto violations = plan::structural_violations(graph, cluster, plan); !violations.empty())
    refuse(flags.file, violations);
  const cost::Problem problem{graph, cluster, *costs, plan.training};
  derive_in_flight(problem, plan, flags.file);
  if (const auto violations = score::violations(problem, plan); !violations.empty())
    refuse(flags.file, violations);
  const plan::Plan given = handed_over(flags, framework, problem, plan);
  const std::string out = frameworks::exported(framework, graph, given, flags.csv);
  if (!flags.csv.empty()) core::write_file(flags.csv, frameworks::order_csv(given));
  if (flags.output.empty())
    print(out);
  else
    core::write_file(flags.output, out);
  return core::ExitCode::done;
}

std::string list_of_frameworks() {
  std::string out;
  for (const Framework& each : frameworks::catalogue())
    out += fmt::format("  {:<11} {}: {}\n", each.name, each.title, each.summary);
  return out;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("export", "Write a plan in the words of a training framework.");
  command->footer(
      "Frameworks:\n" + list_of_frameworks() +
      "\nWhat a framework cannot do is refused by name (exit code 21), with the nearest plan that it can "
      "run, cuts rounded "
      "to whole layers and one set of degrees for all stages, and how much slower that is in simulation. "
      "docs/frameworks.md tells what each can state.\n\n"
      "Examples:\n"
      "  penstock plan --model config.json -p sequence=4096 --gpus 8xH100x4 --mini-batch 256 \\\n"
      "      --precision mixed_bf16 --optimizer adam --planner megatron -o plan.yaml\n"
      "  penstock export plan.yaml --to megatron --nearest nearest.yaml\n"
      "  penstock export plan.yaml --to torchtitan --csv schedule.csv -o job.toml");
  auto flags = std::make_shared<ExportFlags>();
  command->add_option("PLAN", flags->file, "the plan file")->required()->type_name("FILE");
  command->add_option("--to", flags->framework, "megatron, torchtitan, deepspeed, automodel or pytorch")
      ->required()
      ->type_name("NAME")
      ->check(one_of(framework_names()));
  command->add_option("-o,--output", flags->output, "write it here; default: print it")->type_name("FILE");
  command
      ->add_option("--csv", flags->csv,
                   "write the order of passes here besides, for a framework that reads it "
                   "(torch.distributed.pipelining)")
      ->type_name("FILE");
  command
      ->add_option("--nearest", flags->nearest,
                   "where the plan is refused, hand over the nearest one that the framework can run, and "
                   "write it here")
      ->type_name("FILE");
  flags->model.add(*command, false);
  flags->cluster.add(*command, false);
  flags->costs.add(*command);
  command->callback([flags, &action] { action = [flags](const Session&) { return run(*flags); }; });
}

}  // namespace penstock::cli
