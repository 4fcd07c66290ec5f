// penstock import trace: profiles of a real run beside the simulation of its plan.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "folder_delivery.hpp"
#include "import_command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/cost/cost_model.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/experiment/profiled_plan.hpp"
#include "penstock/report/perfetto.hpp"
#include "penstock/report/trace_comparison.hpp"
#include "plan_input.hpp"

namespace penstock::cli {
namespace {

struct ImportTraceFlags {
  std::vector<std::string> files;
  std::string plan, folder;
  std::optional<std::int64_t> step;
  trace::PassFunctions functions;
  ModelFlags model;
  ClusterFlags cluster;
  CostFlags costs;
  bool json = false;
  WideFlag wide;
};

constexpr const char* kProfileRecord = "profile.json";

/// Splits "3=trace.json" into rank and file. Other texts are file names.
std::pair<std::optional<std::int64_t>, std::string> rank_and_file(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::int64_t rank = 0;
  if (equals == text.npos || equals == 0) return {std::nullopt, text};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + equals, rank);
  if (fault != std::errc() || end != text.data() + equals) return {std::nullopt, text};
  return {rank, text.substr(equals + 1)};
}

std::vector<trace::RankProfile> profiles_of(const ImportTraceFlags& flags, const core::StopToken& stop) {
  std::vector<trace::RankProfile> out;
  for (const std::string& text : flags.files) {
    const auto [rank, file] = rank_and_file(text);
    out.push_back(trace::read_rank_profile(file, flags.functions, stop));
    if (rank && out.back().rank.value_or(*rank) != *rank)
      throw core::BadInput({file, 0, ""},
                           fmt::format("is of rank {}, but was given as rank {}", *out.back().rank, *rank));
    if (rank) out.back().rank = rank;
  }
  return out;
}

void write_files(const std::string& folder, const report::ProfiledPlan& found,
                 const cluster::Cluster& cluster, const report::Provenance& made) {
  const FolderDelivery to(folder, kProfileRecord);
  report::write_perfetto(to.path("measured.pftrace"), found.run.measured, &cluster);
  report::write_perfetto(to.path("simulated.pftrace"), found.run.simulated, &cluster);
  core::write_file(to.path("comparison.svg"), report::profiled_svg(found));
  core::write_file(to.path("comparison.csv"), report::comparison_csv(found.comparison));
  core::write_file(to.path(kProfileRecord), report::profiled_json(found, made));
  to.commit();
}

core::ExitCode run(const ImportTraceFlags& flags, const CommandContext& session) {
  if (!flags.folder.empty())
    FolderDelivery::check(
        flags.folder,
        {"measured.pftrace", "simulated.pftrace", "comparison.svg", "comparison.csv", kProfileRecord},
        kProfileRecord, "penstock import trace", session.force);
  experiment::PlanInput input = read_plan(flags.plan, flags.model, flags.cluster, flags.costs);
  const cost::Problem problem = input.problem();
  experiment::complete(problem, input.plan, flags.plan, true);
  sim::SimulationOptions options;
  options.stop = session.stop();
  report::ProfiledPlan found = experiment::compare_profiles(
      problem, input.plan, profiles_of(flags, options.stop), flags.step, options);
  found.plan = std::filesystem::path(flags.plan).stem().string();
  const report::Provenance made = provenance(session);
  if (!flags.folder.empty()) write_files(flags.folder, found, input.cluster, made);
  const report::ScreenLimits screen = flags.wide.screen();
  if (flags.json)
    print(report::profiled_json(found, made));
  else
    print_page(report::profiled_table(found, screen) +
                   "\ncosts: " + cost::source_of(*input.costs, input.cluster) + "\n",
               screen);
  return core::ExitCode::done;
}

}  // namespace

void add_import_trace(CLI::App& import, Action& action) {
  auto* command = import.add_subcommand(
      "trace", "Compare profiles of a real run with the simulation of its plan, pass by pass.");
  command->footer(
      "Reads files of torch.profiler (export_chrome_trace, .json or .json.gz), one per rank. Rank r of the run is device "
      "r of the plan. Passes are recognised by the names that torch.distributed.pipelining gives them, or that "
      "penstock.torch.name_passes gives. The functions of Megatron-LM's schedules are recognised too, if the profile was "
      "recorded with_stack; --forward and --backward name those of another training loop. The time of a pass is that of "
      "its kernels, on a CPU that of its operators, without waits for messages before it.\n"
      "Causes: the plan is simulated again with measured forward passes, then also with measured backward passes, then "
      "also with measured optimizer steps; what remains are messages, waits and the host.\n"
      "\n"
      "Examples:\n"
      "  penstock import trace rank*.json --plan plan.yaml -o compared\n"
      "  penstock import trace 0=first.json.gz 1=second.json.gz --plan plan.yaml --costs costs.yaml --step 12");
  auto flags = std::make_shared<ImportTraceFlags>();
  command->add_option("PROFILE", flags->files, "profiles; RANK=FILE where a file does not name its rank")
      ->required()
      ->type_name("FILE");
  command->add_option("--plan", flags->plan, "the plan of the run")->required()->type_name("FILE");
  command
      ->add_option("--step", flags->step,
                   "N of ProfilerStep#N; default: the last step that all profiles have")
      ->type_name("N");
  command->add_option("--forward", flags->functions.forward, "function or annotation that is a forward pass")
      ->capture_default_str()
      ->type_name("NAME");
  command
      ->add_option("--backward", flags->functions.backward, "function or annotation that is a backward pass")
      ->capture_default_str()
      ->type_name("NAME");
  flags->model.add(*command, false);
  flags->cluster.add(*command, false);
  flags->costs.add(*command);
  command
      ->add_option(
          "-o,--output", flags->folder,
          "write here: comparison.svg (measured above simulated), measured.pftrace and simulated.pftrace "
          "(ui.perfetto.dev), comparison.csv (a line per pass), profile.json")
      ->type_name("DIR");
  command->add_flag("--force")->description(
      "replace files of these names that another command wrote");  // see forced()
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
