#include "fault_flags.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::cli {
namespace {

/// Time of a flag; none if it is not given. `zero`: zero is allowed.
std::optional<core::Seconds> fault_time(const char* flag, const std::string& text, bool zero = false) {
  if (text.empty()) return {};
  const auto time = core::parse_seconds(text);
  if (!time || (!zero && time->value() <= 0))
    throw core::Error(core::ExitCode::usage, fmt::format("{}: expected a time {}such as 5min, not '{}'", flag,
                                                         zero ? "" : "above zero ", text));
  return time;
}

core::Seconds needed_time(const char* flag, const std::string& text, bool zero = false) {
  if (const auto time = fault_time(flag, text, zero)) return *time;
  throw core::Error(core::ExitCode::usage,
                    fmt::format("--mtbf needs {} too: no policy is possible without it", flag));
}

}  // namespace

void FaultFlags::add(CLI::App& command) {
  auto* mtbf =
      command
          .add_option("--mtbf", mtbf_,
                      "mean time between failures of all devices together; prints the goodput, the share of "
                      "time that becomes progress, with --checkpoint and --restart")
          ->type_name("TIME");
  const auto add_time = [&](const char* flag, std::string& text, const char* help) {
    command.add_option(flag, text, help)->needs(mtbf)->type_name("TIME");
  };
  add_time("--checkpoint", checkpoint_, "time for which a checkpoint stops the job");
  add_time("--restart", restart_, "time from a failure until the job computes again");
  add_time("--interval", interval_, "work between two checkpoints; default: the best by Daly (2006)");
  command.add_option("--spares", spares_, "spare nodes, for the policies spare and shrink")
      ->needs(mtbf)
      ->check(CLI::Range(0, 1 << 20).description(""))
      ->type_name("N");
  add_time("--repair", repair_, "time from a failure until the node is a spare again");
  command
      .add_option(
          "--policy", policy_,
          "what follows a failure. restart: replacements are always there; spare: takes a spare, or waits for a "
          "repair; shrink: takes a spare, or trains with fewer replicas until a repair. Default: all")
      ->needs(mtbf)
      ->type_name("NAME")
      ->check(one_of({jobs::fault_policy_names().begin(), jobs::fault_policy_names().end()}));
  command.add_option("--failure-seed", seed_, "seed of the times of failures; default: 0")
      ->needs(mtbf)
      ->check(seeds())
      ->type_name("N");
}

std::optional<experiment::FaultSetting> FaultFlags::setting() const {
  const auto mtbf = fault_time("--mtbf", mtbf_);
  if (!mtbf) return {};
  experiment::FaultSetting out;
  out.costs = {*mtbf, needed_time("--checkpoint", checkpoint_), needed_time("--restart", restart_, true)};
  out.interval = fault_time("--interval", interval_);
  out.spares = spares_;
  out.repair = fault_time("--repair", repair_, true);
  out.seed = seed_;
  for (const std::string_view name : jobs::fault_policy_names())
    if (policy_.empty() || policy_ == name) out.policies.push_back(jobs::fault_policy(name));
  return out;
}

}  // namespace penstock::cli
