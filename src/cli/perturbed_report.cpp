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
using sim::ValueSpread;

struct SpreadStatistic {
  const char* name;
  double ValueSpread::*of;
};
/// Statistics of the iteration's time.
constexpr std::array<SpreadStatistic, 7> kStatistics = {{{"min", &ValueSpread::min},
                                                         {"median", &ValueSpread::median},
                                                         {"p90", &ValueSpread::p90},
                                                         {"p95", &ValueSpread::p95},
                                                         {"p99", &ValueSpread::p99},
                                                         {"max", &ValueSpread::max},
                                                         {"mean", &ValueSpread::mean}}};

/// Summary of all runs together.
struct RunsSummary {
  experiment::AppliedPerturbation applied;
  std::size_t runs = 0;
  std::int64_t mini_batch = 0;
  std::string costs;                         ///< of operators
  ValueSpread iteration;                     ///< seconds
  std::vector<double> times;                 ///< seconds, by run
  std::vector<sim::SampleContent> fillings;  ///< of each run's first mini-batch; none: samples are full

  double throughput(double seconds) const { return static_cast<double>(mini_batch) / seconds; }
  /// Spread of the runs' rates: the least rate is that of the longest run.
  ValueSpread rates() const {
    std::vector<double> all;
    for (const double seconds : times) all.push_back(throughput(seconds));
    return sim::spread(std::move(all));
  }
};

sim::SampleContent first_mini_batch(const cost::Problem& problem, const sim::SequenceLengths& lengths,
                                    std::uint64_t seed) {
  return sim::sum(
      sim::fillings(lengths, sim::room(lengths, problem.graph), problem.training.mini_batch, seed, 0));
}

/// Line about the first mini-batches of all runs.
std::string filling_line(const RunsSummary& summary) {
  if (summary.fillings.empty()) return "";
  const sim::SampleContent all = sim::sum(summary.fillings);
  std::vector<double> tokens;
  for (const sim::SampleContent& filling : summary.fillings)
    tokens.push_back(static_cast<double>(filling.tokens));
  const ValueSpread spread = sim::spread(std::move(tokens));
  return fmt::format(
      "tokens per iteration {:.0f} to {:.0f}, mean {:.0f}; padding {:.1f} % of what is computed\n",
      spread.min, spread.max, spread.mean, all.padding() * 100);
}

std::string table(const RunsSummary& summary) {
  report::Table out({{""}, {"iteration", report::Align::right}, {"samples/s", report::Align::right}});
  const Seconds perfect = summary.applied.perfect;
  out.add({"unperturbed", show(perfect), fmt::format("{:.1f}", summary.throughput(perfect.value()))});
  for (const SpreadStatistic& statistic : kStatistics) {
    const double seconds = summary.iteration.*statistic.of;
    out.add({statistic.name, show(Seconds(seconds)), fmt::format("{:.1f}", summary.throughput(seconds))});
  }
  return fmt::format("{}\n{}, seeds {} to {}: {}; samples/s are those of the row's iteration\n{}{}",
                     out.text(), summary.applied.file, summary.applied.seed,
                     summary.applied.seed + summary.runs - 1, summary.applied.what, filling_line(summary),
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
  const ValueSpread rates = summary.rates();
  for (const SpreadStatistic& statistic : kStatistics) {
    out["iteration_s"][statistic.name] = summary.iteration.*statistic.of;
    out["samples_per_s"][statistic.name] = rates.*statistic.of;
  }
  for (std::size_t run = 0; run < summary.fillings.size(); ++run)
    out["by_seed"].push_back({{"seed", summary.applied.seed + run},
                              {"iteration_s", summary.times[run]},
                              {"sequences", summary.fillings[run].sequences},
                              {"tokens", summary.fillings[run].tokens},
                              {"padding", summary.fillings[run].padding()}});
  return out.dump(2) + "\n";
}

}  // namespace

void PerturbationFlags::add(CLI::App& command) {
  auto* option =
      command.add_option("--perturbation,--imperfection", file,
                         "slow devices, stragglers, jitter, link faults and lengths of sequences, such as "
                         "experiments/imperfect/bad_day.yaml");
  option->type_name("FILE");
  command.add_option("--seed", seed, "seed of jitter and lengths; default: 0")
      ->check(seeds())
      ->type_name("N")
      ->needs(option);
  command
      .add_option("--runs", runs,
                  "simulate with N seeds, starting at --seed, and print the distribution of the times")
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
                                        const cost::Problem& problem, core::Seconds perfect) {
  std::optional<sim::SampleContent> filling;
  if (perturbation.lengths) filling = first_mini_batch(problem, *perturbation.lengths, flags.seed);
  return {flags.file, sim::in_words(perturbation), flags.seed, perfect, filling};
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
  summary.applied = applied(flags, *options.perturbation, problem, perfect);
  summary.runs = flags.runs;
  summary.mini_batch = scheduled.plan.training.mini_batch;
  summary.costs = cost::source_of(problem.costs, problem.cluster);
  for (const core::Picoseconds time : times) summary.times.push_back(to_seconds(time).value());
  summary.iteration = sim::spread(summary.times);
  if (const auto& lengths = options.perturbation->lengths)
    for (std::size_t run = 0; run < flags.runs; ++run) {
      stop.check();
      summary.fillings.push_back(first_mini_batch(problem, *lengths, flags.seed + run));
    }
  return as_json ? json(summary) : table(summary);
}

}  // namespace penstock::cli
