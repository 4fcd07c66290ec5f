// penstock calibrate fit: constants of a cluster from a few training runs of one's own.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "calibrate_command.hpp"
#include "heartbeat.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/measured_runs.hpp"
#include "penstock/report/difference.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using core::show;
using experiment::FittedCluster;
using experiment::RunFit;
using report::Align;
using Json = nlohmann::ordered_json;

struct CalibrateFitFlags {
  std::string file, output;
  CostFlags costs;
  bool json = false;
  WideFlag wide;
};

std::string time_beside(double seconds, double measured) {
  return fmt::format("{} ({})", show(core::Seconds(seconds)), report::difference(seconds / measured - 1));
}

std::string memory_beside(double gib, const std::optional<double>& measured) {
  return fmt::format("{:.2f} GiB", gib) +
         (measured ? fmt::format(" ({})", report::difference(gib / *measured - 1)) : "");
}

std::string runs_table(const FittedCluster& fitted, const report::ScreenLimits& screen) {
  report::Table table({{"plan"},
                       {"iteration", Align::right},
                       {"predicted", Align::right, 2},
                       {"fitted", Align::right},
                       {"memory", Align::right, 1},
                       {"predicted", Align::right, 3},
                       {"fitted", Align::right, 1}});
  for (const RunFit& fit : fitted.runs)
    table.add({fit.run.plan, show(core::Seconds(fit.run.seconds)), time_beside(fit.stated_s, fit.run.seconds),
               time_beside(fit.fitted_s, fit.run.seconds),
               fit.run.gib ? fmt::format("{:.2f} GiB", *fit.run.gib) : "-",
               memory_beside(fit.stated_gib, fit.run.gib), memory_beside(fit.fitted_gib, fit.run.gib)});
  return table.text(screen);
}

std::string constants_text(const FittedCluster& fitted) {
  std::string out = fmt::format(
      "\nkernel_slowdown  {:.4f} (stated: {:.4g}): kernels take so many times as long as in the cost tables\n",
      fitted.kernel_slowdown, fitted.stated_slowdown);
  out += !fitted.host_launch ? "host_launch      as stated: fitting it needs at least two runs\n"
         : fitted.host_launch->value() > 0
             ? fmt::format("host_launch      {}: of one kernel, on the host\n", show(*fitted.host_launch))
             : "host_launch      0: launch time of the host does not explain these runs better\n";
  out += fitted.reserved ? fmt::format("reserved         {}: memory of devices beyond the plans\n",
                                       show(*fitted.reserved))
                         : "reserved         as stated: no run has memory_gib\n";
  return out;
}

/// Next step for the user: how to use the constants.
std::string next_text(const FittedCluster& fitted, const CalibrateFitFlags& flags) {
  if (flags.output.empty())
    return fmt::format("\nFor each device type in the cluster file (-o FILE writes one):\n  {}\n",
                       constant_keys(fitted));
  const std::string costs = flags.costs.file ? " --costs " + *flags.costs.file : "";
  return fmt::format("\n{} is the cluster with these. Next:\n  penstock plan {} --cluster {}{}\n",
                     flags.output, fitted.next, flags.output, costs);
}

Json run_json(const RunFit& fit) {
  return {{"plan", fit.run.plan},
          {"iteration_s", fit.run.seconds},
          {"stated_s", fit.stated_s},
          {"fitted_s", fit.fitted_s},
          {"memory_gib", fit.run.gib ? Json(*fit.run.gib) : Json()},
          {"stated_gib", fit.stated_gib},
          {"fitted_gib", fit.fitted_gib}};
}

std::string json(const FittedCluster& fitted) {
  Json runs = Json::array();
  for (const RunFit& fit : fitted.runs) runs.push_back(run_json(fit));
  const Json out = {{"cluster", fitted.cluster},
                    {"kernel_slowdown", fitted.kernel_slowdown},
                    {"host_launch_s", fitted.host_launch ? Json(fitted.host_launch->value()) : Json()},
                    {"reserved_bytes", fitted.reserved ? Json(fitted.reserved->value()) : Json()},
                    {"runs", runs}};
  return out.dump(2) + "\n";
}

/// Constants explain some percent of a time; what is twice as long or half as long has another reason.
void warn_of_misfits(const FittedCluster& fitted) {
  constexpr double kMost = 2;
  for (const RunFit& fit : fitted.runs)
    if (fit.fitted_s > kMost * fit.run.seconds || fit.run.seconds > kMost * fit.fitted_s)
      warn(
          fmt::format("{}: {} measured, {} with these constants: is iteration_s in seconds, of one "
                      "iteration, and of this "
                      "plan?",
                      fit.run.plan, show(core::Seconds(fit.run.seconds)), show(core::Seconds(fit.fitted_s))));
}

core::ExitCode fit(const CalibrateFitFlags& flags, const CommandContext& session) {
  const auto runs = experiment::parse_measured_runs(core::read_file(flags.file), flags.file);
  const report::ScreenLimits screen = flags.wide.screen();
  ProgressReporter heartbeat(flags.file, "fitting for");
  const FittedCluster fitted = experiment::fit_cluster(
      runs, flags.file, [&](const cluster::Cluster& cluster) { return flags.costs.load(cluster); },
      session.stop(), [&](double done) { heartbeat.tell(fmt::format("{:.0f} %", done * 100)); });
  warn_of_misfits(fitted);
  for (const std::string& doubt : fitted.doubts) warn(doubt);
  if (!flags.output.empty()) core::write_file(flags.output, fitted.text);
  flags.json
      ? print(json(fitted))
      : print_page(runs_table(fitted, screen) + constants_text(fitted) + next_text(fitted, flags), screen);
  return core::ExitCode::done;
}

}  // namespace

void add_calibrate_fit(CLI::App& calibrate, Action& action) {
  auto* command =
      calibrate.add_subcommand("fit", "Fit a cluster's constants to a few training runs of your own.");
  command->footer(
      "The table names a plan file for each run (penstock plan -o, penstock import megatron, or by hand) and "
      "what was\n"
      "measured:\n"
      "  plan,iteration_s,memory_gib\n"
      "  small.yaml,0.412,21.3\n"
      "  large.yaml,1.377,64.8\n"
      "iteration_s is the time of an iteration, in the steady state. memory_gib is the most that a device "
      "held, as\n"
      "nvidia-smi counts it; the column, or a field, may be missing. Runs of small and of large kernels tell "
      "a slow\n"
      "device from a slow host.\n\n"
      "JSON is one object; every key is always there:\n"
      "  cluster, kernel_slowdown, host_launch_s or null, reserved_bytes or null\n"
      "  runs  [{plan, iteration_s, stated_s, fitted_s, memory_gib or null, stated_gib, fitted_gib}]\n\n"
      "Example:\n"
      "  penstock calibrate fit runs.csv -o mine.yaml\n"
      "  penstock plan --model bert --cluster mine.yaml --devices 8 --mini-batch 64");
  auto flags = std::make_shared<CalibrateFitFlags>();
  command->add_option("TABLE", flags->file, "the table of runs (CSV)")->required()->type_name("FILE");
  command
      ->add_option("-o,--output", flags->output,
                   "cluster file: the plans' cluster with these constants; default: print the keys")
      ->type_name("FILE");
  flags->costs.add(*command);
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& session) { return fit(*flags, session); }; });
}

}  // namespace penstock::cli
