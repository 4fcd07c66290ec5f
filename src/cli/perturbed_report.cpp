#include "perturbed_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/report/table.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/repeat.hpp"

namespace penstock::cli {
namespace {

using core::Seconds;
using core::show;
using sim::Spread;

struct Statistic {
  const char* name;
  double Spread::*of;
};
/// Of the iteration's time.
constexpr std::array<Statistic, 6> kStatistics = {{{"min", &Spread::min},
                                                   {"median", &Spread::median},
                                                   {"p90", &Spread::p90},
                                                   {"p99", &Spread::p99},
                                                   {"max", &Spread::max},
                                                   {"mean", &Spread::mean}}};

/// Of all runs together.
struct RunsSummary {
  experiment::AppliedPerturbation applied;
  std::size_t runs = 0;
  std::int64_t mini_batch = 0;
  std::string costs;  ///< of operators
  Spread iteration;   ///< seconds

  double throughput(double seconds) const { return static_cast<double>(mini_batch) / seconds; }
};

std::string table(const RunsSummary& summary) {
  report::Table out({{""}, {"iteration", report::Align::right}, {"samples/s", report::Align::right}});
  const Seconds perfect = summary.applied.perfect;
  out.add({"unperturbed", show(perfect), fmt::format("{:.1f}", summary.throughput(perfect.value()))});
  for (const Statistic& statistic : kStatistics) {
    const double seconds = summary.iteration.*statistic.of;
    out.add({statistic.name, show(Seconds(seconds)), fmt::format("{:.1f}", summary.throughput(seconds))});
  }
  return fmt::format("{}\n{}, seeds {} to {}: {}; samples/s are those of the row's iteration\n{}", out.text(),
                     summary.applied.file, summary.applied.seed, summary.applied.seed + summary.runs - 1,
                     summary.applied.what,
                     summary.costs == "analytic" ? "" : "costs: " + summary.costs + "\n");
}

std::string json(const RunsSummary& summary) {
  const Seconds perfect = summary.applied.perfect;
  nlohmann::ordered_json out = {{"imperfection", summary.applied.file},
                                {"applied", summary.applied.what},
                                {"seed", summary.applied.seed},
                                {"runs", summary.runs},
                                {"costs", summary.costs},
                                {"perfect_iteration_s", perfect.value()},
                                {"perfect_samples_per_s", summary.throughput(perfect.value())}};
  for (const Statistic& statistic : kStatistics) {
    out["iteration_s"][statistic.name] = summary.iteration.*statistic.of;
    out["samples_per_s"][statistic.name] = summary.throughput(summary.iteration.*statistic.of);
  }
  return out.dump(2) + "\n";
}

}  // namespace

void PerturbationFlags::add(CLI::App& command) {
  auto* option = command.add_option("--perturbation,--imperfection", file,
                                    "slow devices, stragglers, jitter and link faults, such as "
                                    "experiments/imperfect/bad_day.yaml");
  option->type_name("FILE");
  command.add_option("--seed", seed, "seed of the jitter; default: 0")
      ->check(seeds())
      ->type_name("N")
      ->needs(option);
  command
      .add_option("--runs", runs,
                  "simulate with so many seeds from --seed on and print how the times are spread")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N")
      ->needs(option);
}

std::optional<sim::Perturbation> PerturbationFlags::load(const cluster::Cluster& cluster) const {
  if (file.empty()) return std::nullopt;
  return sim::load_perturbation(file, cluster);
}

void warn_of_unmet(const sim::Perturbation& perturbation, const cluster::Cluster& cluster,
                   const trace::Trace& trace) {
  for (const std::string& line : sim::unmet(perturbation, cluster, trace)) warn(line);
}

experiment::AppliedPerturbation applied(const PerturbationFlags& flags, const sim::Perturbation& perturbation,
                                        core::Seconds perfect) {
  return {flags.file, sim::in_words(perturbation), flags.seed, perfect};
}

std::string runs_report(const PerturbationFlags& flags, const cost::Problem& problem,
                        const schedule::ScheduledPlan& scheduled, const sim::SimulationOptions& options,
                        bool as_json, core::StopToken stop) {
  const auto times = sim::repeat(problem, scheduled, options, flags.runs, stop);
  sim::SimulationOptions longest = options;
  longest.seed += static_cast<std::uint64_t>(std::max_element(times.begin(), times.end()) - times.begin());
  warn_of_unmet(*options.perturbation, problem.cluster, sim::simulate(problem, scheduled, longest));

  RunsSummary summary;
  sim::SimulationOptions ideal = options;
  ideal.perturbation = nullptr;
  const core::Picoseconds length = sim::simulate_time(problem, scheduled, ideal);
  experiment::check_length(length);
  const auto perfect = to_seconds(length);
  summary.applied = applied(flags, *options.perturbation, perfect);
  summary.runs = flags.runs;
  summary.mini_batch = scheduled.plan.training.mini_batch;
  summary.costs = cost::source_of(problem.costs, problem.cluster);
  std::vector<double> seconds;
  for (const core::Picoseconds time : times) seconds.push_back(to_seconds(time).value());
  summary.iteration = sim::spread(seconds);
  return as_json ? json(summary) : table(summary);
}

}  // namespace penstock::cli
