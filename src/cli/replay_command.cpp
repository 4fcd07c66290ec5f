// penstock replay: a plan executed for real, beside its simulation.
#include <fmt/format.h>

#include <filesystem>

#include "folder_delivery.hpp"
#include "heartbeat.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/statistics.hpp"
#include "penstock/report/perfetto.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/report/trace_comparison.hpp"
#include "plan_input.hpp"
#include "rank.hpp"
#include "replay_flags.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

struct ReplayCommandFlags {
  std::string file;
  ClusterFlags cluster;
  CostFlags costs;
  SimulationFlags simulation;
  ReplayFlags replay;
  std::string losses, folder;
  bool json = false, graph = false;
  WideFlag wide;
};

constexpr const char* kRecord = "comparison.json";  ///< names who wrote the others

void write_timeline(const FolderDelivery& to, const std::string& name, const trace::Trace& trace,
                    const cluster::Cluster& cluster, const std::string& plan) {
  report::write_perfetto(to.path(name + ".pftrace"), trace, &cluster);
  report::TimelineStyle style;
  style.title = plan + ", " + name;
  core::write_file(to.path(name + ".svg"), report::to_svg(trace, style));
}

std::string losses_csv(const std::vector<double>& losses) {
  std::string out = "mini_batch,loss\n";
  for (std::size_t i = 0; i < losses.size(); ++i) out += fmt::format("{},{}\n", i, losses[i]);
  return out;
}

void write_all(const ReplayCommandFlags& flags, const experiment::ReplayOutcome& replayed,
               const cluster::Cluster& cluster, const report::Provenance& provenance) {
  const auto write_losses = [&] {
    if (!flags.losses.empty()) core::write_file(flags.losses, losses_csv(replayed.measured.losses));
  };
  if (flags.folder.empty()) return write_losses();
  const FolderDelivery to(flags.folder, kRecord);
  write_timeline(to, "measured", replayed.measured.trace, cluster, replayed.row.plan);
  write_timeline(to, "simulated", replayed.simulated, cluster, replayed.row.plan);
  core::write_file(to.path("comparison.csv"), report::comparison_csv(replayed.comparison));
  core::write_file(to.path(kRecord),
                   report::comparison_json(replayed.row, replayed.measured.iterations, replayed.as_graph,
                                           replayed.comparison, provenance));
  write_losses();
  to.commit();
}

/// Beside the eager iterations: here no one waits for a thread, and links are as fast as the devices copy.
std::string graph_line(const std::vector<core::Seconds>& launches) {
  if (launches.empty()) return "";
  std::vector<double> times;
  for (const core::Seconds time : launches) times.push_back(time.value());
  const core::MedianInterval found = core::median_interval(std::move(times));
  const auto show = [](double seconds) { return core::show(core::Seconds(seconds)); };
  return fmt::format("\nas one graph: {} ({} to {}, {} launches), links as fast as the devices copy\n",
                     show(found.median), show(found.low), show(found.high), launches.size());
}

core::ExitCode run(const ReplayCommandFlags& flags, const CommandContext& session) {
  if (!flags.folder.empty())
    FolderDelivery::check(
        flags.folder,
        {"measured.pftrace", "measured.svg", "simulated.pftrace", "simulated.svg", "comparison.csv", kRecord},
        kRecord, "penstock replay", session.force);
  const std::string text = core::read_file(flags.file);
  const plan::PlanHead head = head_of(text, flags.file, {}, flags.cluster);
  const graph::OpGraph graph = experiment::load_model(head.model);
  const cluster::Cluster cluster = experiment::load_cluster(head.cluster);
  plan::Plan plan = plan::parse_plan(text, flags.file, graph);
  plan.cluster = head.cluster;
  const auto costs = flags.costs.load(cluster);
  const cost::Problem problem{graph, cluster, *costs, plan.training};
  experiment::complete(problem, plan, flags.file);

  experiment::ReplaySetting setting = flags.replay.setting();
  setting.training.losses = !flags.losses.empty();
  setting.options.stop = session.stop();
  setting.graph = flags.graph;
  report::ReplayRow before;
  stamp(before, session);
  std::optional<replay::MpiProcesses> processes;
  if (const int count = process_count(); count > 1)
    setting.options.processes = &processes.emplace(count, cluster.size());
  const std::string name = fs::path(flags.file).stem().string();
  std::optional<ProgressReporter> heartbeat;
  if (process_rank() == 0) heartbeat.emplace(name, "replaying for");
  auto replayed = experiment::replay_plan(problem, plan, flags.simulation.options(), setting);
  heartbeat.reset();
  processes.reset();
  if (process_rank() > 0) return core::ExitCode::done;
  replayed.row.plan = name;
  replayed.row.load = before.load;
  replayed.row.date = before.date;
  const report::Provenance made = provenance(session);
  write_all(flags, replayed, cluster, made);
  const report::ScreenLimits screen = flags.wide.screen();
  if (flags.json)
    print(report::comparison_json(replayed.row, replayed.measured.iterations, replayed.as_graph,
                                  replayed.comparison, made));
  else
    print_page(
        report::comparison_table(replayed.row, replayed.comparison, screen) + graph_line(replayed.as_graph),
        screen);
  return core::ExitCode::done;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "replay", "Execute a plan for real: kernels, messages, memory; and compare with its simulation.");
  auto flags = std::make_shared<ReplayCommandFlags>();
  command->footer(
      "The plan is trained for real: weights, samples and targets come from the seed, gradients are "
      "reduced, the optimizer steps. Kernels of the host use one thread per device of the plan. Output "
      "files are written together at the end, and replace only files of another replay (exit code 12). "
      "Under mpirun, N processes share the D devices: device d runs in process d * N / D. Messages and "
      "tensor-parallel collectives use MPI, or NCCL between GPUs (then every device is a whole GPU); "
      "process 0 prints and writes.\n"
      "\n"
      "Examples:\n"
      "  penstock replay plan.yaml --costs host.yaml -o out/replay\n"
      "  penstock replay plan.yaml --iterations 50 --losses losses.csv\n"
      "  mpirun -n 2 penstock replay plan.yaml --costs host.yaml -o out/replay\n"
      "  mpirun -n 4 --map-by ppr:2:node penstock replay plan.yaml --device cuda --costs h100.yaml");
  command->add_option("PLAN", flags->file, "the plan file")->required()->type_name("FILE");
  flags->cluster.add(*command, false);
  flags->costs.add(*command);
  flags->simulation.add(*command);
  flags->replay.add(*command);
  command
      ->add_option(
          "--losses", flags->losses,
          "write the loss of every mini-batch, including warm-up, as CSV; reading losses adds to the "
          "measured time")
      ->type_name("FILE.csv");
  command
      ->add_option("-o,--output", flags->folder,
                   "measured and simulated trace (.pftrace, .svg), comparison.csv and comparison.json")
      ->type_name("DIR");
  command->add_flag(
      "--graph", flags->graph,
      "on GPUs, also run the iteration as one CUDA graph, one launch per measured iteration; without "
      "throttled links and losses");
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
