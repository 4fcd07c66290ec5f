#include "replay_flags.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "penstock/core/digest.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/kernels/devices.hpp"

namespace penstock::cli {
namespace {

/// CLI11's ranges let through what is no number.
CLI::Validator learning_rate() {
  return CLI::Validator(
      [](std::string& given) {
        double value = 0;
        if (CLI::detail::lexical_cast(given, value) && value >= 0 && std::isfinite(value))
          return std::string();
        return "expected a number of at least 0, not '" + given + "'";
      },
      "");
}

}  // namespace

void ReplayFlags::add(CLI::App& command) {
  constexpr int kMost = 10'000;
  command
      .add_option(
          "--device", device,
          "device to run on: host; a GPU such as cuda:0; cuda:0/4 (one of four partitions per device of "
          "the plan); or cuda (a GPU per device, or equal partitions of one GPU)")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--iterations", iterations, "iterations to measure")
      ->capture_default_str()
      ->check(CLI::Range(1, kMost).description(""))
      ->type_name("N");
  command.add_option("--warm-up", warm_up, "iterations before these, not measured")
      ->capture_default_str()
      ->check(CLI::Range(0, kMost).description(""))
      ->type_name("N");
  auto* together = command.add_flag(
      "--concurrent", concurrent,
      "run all devices at the same time, one thread each; default if each has a processor, GPU or "
      "partition");
  auto* apart = command.add_flag(
      "--sequential", sequential,
      "run one device at a time and compose the iteration from the measured tasks (sequential "
      "emulation); default otherwise");
  apart->excludes(together);
  command
      .add_flag("--no-throttle", no_throttle,
                "with --concurrent, send messages at the speed of memory instead of the cluster's links; the "
                "simulation keeps to the links")
      ->excludes(apart);
  command.add_flag(
      "--experts-in-turn", experts_in_turn,
      "assign rows to experts in turn, ignoring the router, because an untrained router sends most "
      "rows to a few experts");
  command.add_option("--seed", seed, "seed of weights, samples and targets")
      ->capture_default_str()
      ->check(seeds())
      ->type_name("S");
  command.add_option("--rate", rate, "learning rate, per sample")
      ->capture_default_str()
      ->check(learning_rate())
      ->type_name("R");
}

experiment::ReplaySetting ReplayFlags::setting() const {
  experiment::ReplaySetting out;
  out.device = device;
  if (concurrent) out.manner = replay::ReplayManner::concurrent;
  if (sequential) out.manner = replay::ReplayManner::sequential;
  out.training.seed = seed;
  out.training.rule.rate = rate;
  out.experts_in_turn = experts_in_turn;
  out.options.iterations = iterations;
  out.options.warm_up = warm_up;
  out.options.throttle = !no_throttle;
  return out;
}

void stamp(report::ReplayRow& row, const CommandContext& session) {
  double load = 0;
  row.load = getloadavg(&load, 1) == 1 ? load : 0;
  row.date = provenance(session).date;
}

std::vector<std::pair<std::string, std::string>> conditions(const ReplayFlags& flags,
                                                            const std::optional<std::string>& costs) {
  std::vector<std::pair<std::string, std::string>> out =
      kernels::open_device(kernels::device_for(flags.device, 0, {0, 1, 1}), 1)->identity();
  const bool file = experiment::is_costs_file(costs);
  out.emplace_back("costs", file ? *costs : costs ? "analytic" : "efficiency curves");
  if (file) out.emplace_back("CRC-32 of costs", core::checksum(core::read_file(*costs)));
  out.emplace_back("manner", flags.concurrent   ? "concurrent"
                             : flags.sequential ? "sequential"
                                                : "by processors");
  out.emplace_back("iterations", fmt::format("{} after {}", flags.iterations, flags.warm_up));
  out.emplace_back("links", flags.no_throttle ? "as fast as memory" : "as slow as the cluster's");
  out.emplace_back("training", fmt::format("seed {}, rate {}{}", flags.seed, flags.rate,
                                           flags.experts_in_turn ? ", experts in turn" : ""));
  return out;
}

}  // namespace penstock::cli
