#pragma once
// Code shared by the sub-commands: flags that mean the same everywhere, and how they become values.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "output.hpp"
#include "penstock/core/stop.hpp"
#include "penstock/core/thread_limit.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/report/results.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::cli {

/// Data that main passes to every command.
struct CommandContext {
  std::string command_line;
  bool force = false;  ///< files of others may be replaced
  core::StopToken (*stop)() =
      nullptr;  ///< from this call on a first Ctrl-C only requests a stop; before, it ends the program
  core::StopToken (*end_search)() = nullptr;  ///< likewise; a search then ends with the best plan so far
};

/// Each sub-command registers itself on the app and leaves what to run; the return value is the exit code.
using Action = std::function<core::ExitCode(const CommandContext&)>;
void add_run(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_pareto(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_mcp(CLI::App& app, Action& action);
void add_size(CLI::App& app, Action& action);
void add_rl(CLI::App& app, Action& action);
void add_models(CLI::App& app, Action& action);
void add_clusters(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_improve(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_index(CLI::App& app, Action& action);
void add_planners(CLI::App& app, Action& action);
void add_schedule(CLI::App& app, Action& action);
void add_schedules(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_completions(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);
void add_help(CLI::App& app, Action& action);

/// --model NAME|FILE and -p key=value.
struct ModelFlags {
  std::string name;
  std::vector<std::string> parameters;
  std::string lora;  ///< settings of the parameter of that name; "": not given
  void add(CLI::App& command, bool required);
  /// With what its file states (experiment::named_model). Throws BadInput for a parameter that is not
  /// key=value.
  frameworks::NamedModel named() const;
  plan::ModelRef ref() const { return named().model; }
};

/// --cluster NAME|FILE, --devices N, --runtime NAME and --reserved SIZE.
struct ClusterFlags {
  std::string file;  ///< or a name
  int devices = 0;
  std::string runtime;
  std::string reserved_text;
  void add(CLI::App& command, bool required);
  void add_host(CLI::App& command, bool required);  ///< --framework and --reserved
  std::optional<core::Bytes> reserved() const;      ///< of --reserved
  plan::ClusterRef ref() const { return {file, devices, runtime, reserved()}; }
};

/// Runs body(), whose input comes only from the command line: any bad input is a usage error.
template <class Body>
auto from_command_line(const Body& body) {
  try {
    return body();
  } catch (const core::BadInput& e) {
    throw core::Error(core::ExitCode::usage, e.what());
  }
}

/// Whole numbers from 1 to the largest mini-batch Penstock handles; names of `known` with a hint otherwise.
CLI::Validator samples();
/// From 0 on, and far enough below the largest number that a million more follow.
CLI::Validator seeds();
CLI::Validator one_of(std::vector<std::string> known);
/// Takes what cluster::runtime does.
CLI::Validator framework_name();
/// Takes anything: `known` is what shells offer. Like that of one_of, the validator's name holds them, with
/// blanks between.
CLI::Validator suggest(const std::vector<std::string>& known);
std::vector<std::string> planner_names();
std::vector<std::string> model_names();
std::vector<std::string> cluster_names();   ///< built in
std::vector<std::string> schedule_names();  ///< families

/// --costs FILE and --allow-foreign.
struct CostFlags {
  std::optional<std::string> file;
  bool allow_foreign = false;
  void add(CLI::App& command);
  std::shared_ptr<const cost::CostModel> load(
      const cluster::Cluster& cluster) const;  ///< throws BadInput for another device's
};

/// Assumptions of the simulator: --network, --collective, --pass-collectives.
struct SimulationFlags {
  std::string network = "fair";
  std::string collective = "closed_form";
  std::string pass_collectives = "closed_form";
  void add(CLI::App& command);
  sim::SimulationOptions options() const;
};

/// --gradient-compression and --activation-compression.
struct CompressionFlags {
  std::optional<double> gradients, activations;
  void add(CLI::App& command);
  /// Does not change settings without a flag.
  void apply(plan::Compression& compression) const;
};

/// --bucket.
struct BucketFlag {
  std::string text;
  void add(CLI::App& command);
  /// Does not change settings that are not given. Throws a usage error for a value that is no count of bytes.
  void apply(plan::Training& training) const;
};

/// --precision.
struct PrecisionFlag {
  std::string name;
  void add(CLI::App& command);
};

/// --time-limit, of each search.
struct TimeLimitFlag {
  std::string text;
  void add(CLI::App& command);
  std::optional<core::Seconds> value() const;  ///< throws a usage error for what is no time
};

/// --memory-limit, of each search; a default as text, none by default.
struct MemoryLimitFlag {
  std::string text = "none";
  void add(CLI::App& command);
  std::optional<core::Bytes> value() const;  ///< throws a usage error for what is no amount
};

void add_threads(CLI::App& command, int& threads);
void add_json(CLI::App& command, bool& json);

using core::ThreadLimit;

/// The birth certificate of results made by this process.
report::Provenance provenance(const CommandContext& session);

/// Identity of this build: experiment::program of the executable.
std::string program(const report::Provenance& provenance);

}  // namespace penstock::cli
