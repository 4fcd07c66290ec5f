#include "penstock/experiment/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "penstock/core/digest.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/statistics.hpp"
#include "penstock/cost/coverage.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/published_problem.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {
namespace {

using core::Seconds;
using report::PublishedPrediction;
using report::PublishedRun;

constexpr double kGib = 1024.0 * 1024 * 1024;

/// One run, ready to be simulated on its cluster.
class Stated {
 public:
  Stated(const PublishedRun& run, const cluster::Cluster& whole, const cost::CostModel& costs)
      : run_(run), cluster_(whole.first(run.devices)), costs_(costs), stated_(published_problem(run)) {
    const cost::Problem problem = on(cluster_);
    score::derive_in_flight(problem, stated_.plan);
    const auto violations = plan::structural_violations(stated_.graph, cluster_, stated_.plan);
    if (!violations.empty())
      throw core::BadInput(fmt::format("line {}: run {}: {}", run.line, run.id, violations.front()));
  }

  const PublishedRun& run() const { return run_; }
  PublishedPrediction predict(core::StopToken stop) const { return predict(on(cluster_), stop); }
  PublishedPrediction predict(Constant what, double value, core::StopToken stop) const {
    const cluster::Cluster fitted = what == Constant::host_launch
                                        ? cluster_.run_by({.per_kernel = Seconds(value)})
                                        : cluster_.slowed_by(value);
    return predict(on(fitted), stop);
  }
  cost::Coverage coverage(const cost::EstimatedCosts& costs) const {
    return cost::coverage(costs, stated_.graph, cluster_, stated_.plan);
  }
  cost::Coverage collectives() const { return cost::collective_coverage(on(cluster_), stated_.plan); }
  double error(Constant what, double value, core::StopToken stop) const {
    return std::abs(predict(what, value, stop).seconds / run_.measured_s - 1);
  }

 private:
  cost::Problem on(const cluster::Cluster& cluster) const {
    return {stated_.graph, cluster, costs_, stated_.plan.training};
  }

  PublishedPrediction predict(const cost::Problem& problem, core::StopToken stop) const {
    sim::SimulationOptions options;
    options.stop = stop;
    const auto time = sim::simulate_time(problem, score::scheduled(problem, stated_.plan), options);
    core::Bytes most;
    const auto memories = score::stage_memories(problem, stated_.plan);
    for (std::size_t s = 0; s < memories.size(); ++s) {
      const core::DeviceId first = stated_.plan.stages[s].devices.front();
      most = std::max(most, plan::total(memories[s]) + problem.cluster.type(first).reserved);
    }
    return {&run_, to_seconds(time).value(), static_cast<double>(most.value()) / kGib};
  }

  const PublishedRun& run_;
  cluster::Cluster cluster_;
  const cost::CostModel& costs_;
  PublishedProblem stated_;
};

/// Where a constant is looked for, and how exactly.
struct Range {
  Constant what;
  double first, step;  ///< of a first look
  int steps;           ///< after the first
  double digits;       ///< per unit: what is left is rounded to 1 / digits
  std::size_t fewest;  ///< runs that it stands on
};
constexpr Range kRanges[] = {
    {Constant::host_launch, 0, 8e-6, 25, 1e8, 8},        // hundredths of a microsecond
    {Constant::kernel_slowdown, 0.5, 0.25, 14, 1e4, 1},  // every run tells it
};

/// Golden section search (Kiefer, 1953) on the mean error's size, after a first look at equal distances,
/// since the mean of many hinges has more than one dent.
double best_value(const Range& range, const std::vector<const Stated*>& runs, core::StopToken stop) {
  const auto error = [&](double value) {
    std::vector<double> errors(runs.size());
    core::parallel_for(runs.size(),
                       [&](std::size_t i) { errors[i] = runs[i]->error(range.what, value, stop); });
    return std::accumulate(errors.begin(), errors.end(), 0.0);
  };
  constexpr double kGolden = 0.6180339887498949;
  constexpr int kRounds = 20;
  int best = 0;
  double least = error(range.first);
  for (int step = 1; step <= range.steps; ++step)
    if (const double here = error(range.first + step * range.step); here < least) least = here, best = step;
  double low = range.first + std::max(0, best - 1) * range.step, high = range.first + (best + 1) * range.step;
  double a = high - (high - low) * kGolden, b = low + (high - low) * kGolden;
  double at_a = error(a), at_b = error(b);
  for (int round = 0; round < kRounds; ++round)
    if (at_a <= at_b) {  // the least lies below b
      high = std::exchange(b, a), at_b = at_a;
      at_a = error(a = high - (high - low) * kGolden);
    } else {
      low = std::exchange(a, b), at_a = at_b;
      at_b = error(b = low + (high - low) * kGolden);
    }
  return std::round((low + high) / 2 * range.digits) / range.digits;
}

using ByCluster = std::map<std::string, std::vector<const Stated*>>;

/// `predicted` is told of each prediction.
FittedRung fitted(const Range& range, const ByCluster& fit, const ByCluster& rest, core::StopToken stop,
                  const std::function<void()>& predicted) {
  FittedRung out{range.what, {}, {}};
  for (const auto& [cluster, judged] : rest) {
    const auto chosen = fit.find(cluster);
    if (chosen == fit.end() || chosen->second.size() < range.fewest) continue;
    const double value = best_value(range, chosen->second, stop);
    out.constants.push_back({cluster, value, chosen->second.size()});
    const std::size_t first = out.predictions.size();
    out.predictions.resize(first + judged.size());
    core::parallel_for(judged.size(), [&](std::size_t i) {
      stop.check();
      out.predictions[first + i] = judged[i]->predict(range.what, value, stop);
      predicted();
    });
  }
  return out;
}

/// What runs hold beside their plans: the median of what the chosen ones were measured to, to a hundredth of
/// a GiB. Times are as stated.
FittedRung reserved(const std::vector<PublishedPrediction>& as_stated) {
  std::map<std::string, std::vector<double>> beside;  // GiB, by cluster
  for (const PublishedPrediction& p : as_stated)
    if (p.run->measured_gib && fitted_on(*p.run))
      beside[p.run->cluster].push_back(*p.run->measured_gib - p.gib);
  FittedRung out{Constant::reserved_memory, {}, {}};
  for (auto& [cluster, gib] : beside) {
    std::sort(gib.begin(), gib.end());
    constexpr double kHalf = 0.5, kDigits = 100;
    const double value = std::max(0.0, std::round(core::quantile(gib, kHalf) * kDigits) / kDigits);
    out.constants.push_back({cluster, value, gib.size()});
    for (PublishedPrediction p : as_stated)
      if (p.run->cluster == cluster && p.run->measured_gib && !fitted_on(*p.run)) {
        p.gib += value;
        out.predictions.push_back(p);
      }
  }
  std::erase_if(out.constants, [&](const FittedConstant& c) {
    return std::ranges::none_of(out.predictions, [&](const auto& p) { return p.run->cluster == c.cluster; });
  });
  return out;
}

/// By name, of those that have a file and whose devices the costs are known for.
std::map<std::string, cluster::Cluster> load_clusters(const std::vector<PublishedRun>& runs,
                                                      const cost::CostModel& costs,
                                                      const AgainstOptions& options) {
  std::map<std::string, cluster::Cluster> out;
  for (const PublishedRun& run : runs) {
    if (!unstated(run).empty() || out.contains(run.cluster)) continue;
    const auto file = std::filesystem::path(options.clusters) / (run.cluster + ".yaml");
    if (!std::filesystem::exists(file)) continue;
    const cluster::Cluster cluster = load_cluster({file.string(), 0});
    if (options.allow_foreign || costs.foreign(cluster).empty())
      out.emplace(run.cluster, cost::measured_by(costs, cluster));
  }
  return out;
}

/// Every run counts as long as it computes, or speaks within tensor-parallel groups; sets that do not are
/// left out.
std::vector<SetCoverage> coverage_of(const std::vector<std::optional<Stated>>& stated,
                                     const std::function<cost::Coverage(const Stated&)>& coverage) {
  std::vector<cost::Coverage> of_run(stated.size());
  core::parallel_for(stated.size(), [&](std::size_t i) { of_run[i] = coverage(*stated[i]); });
  std::vector<std::string> order;
  std::map<std::string, cost::Coverage> sums;
  for (std::size_t i = 0; i < stated.size(); ++i) {
    const std::string& set = stated[i]->run().set;
    if (!sums.contains(set)) order.push_back(set);
    for (std::size_t o = 0; o < cost::kOrigins; ++o) sums[set].seconds[o] += of_run[i].seconds[o];
  }
  std::vector<SetCoverage> out;
  for (const std::string& set : order) {
    const auto& seconds = sums[set].seconds;
    if (std::ranges::all_of(seconds, [](double s) { return s == 0; })) continue;
    SetCoverage& one = out.emplace_back(SetCoverage{set, {}});
    for (std::size_t o = 0; o < cost::kOrigins; ++o)
      one.share[o] = sums[set].time_share(static_cast<cost::Origin>(o));
  }
  return out;
}

}  // namespace

bool fitted_on(const PublishedRun& run) {
  const std::string digest = core::digest(run.set + "\n" + run.id + "\n" + std::to_string(run.devices));
  return std::stoul(digest.substr(0, 7), nullptr, 16) % 10 == 0;
}

PublishedPrediction predicted(const PublishedRun& run, const cluster::Cluster& cluster,
                              const cost::CostModel& costs, core::StopToken stop) {
  return Stated(run, cluster, costs).predict(stop);
}

Against against(const std::vector<PublishedRun>& runs, const cost::CostModel& costs,
                const AgainstOptions& options, core::StopToken stop) {
  Against out;
  const auto clusters = load_clusters(runs, costs, options);
  std::map<std::string, std::size_t> left_out;
  std::vector<const PublishedRun*> chosen;
  for (const PublishedRun& run : runs)
    if (const std::string what = unstated(run); !what.empty())
      ++left_out[what];
    else if (!clusters.contains(run.cluster))
      ++left_out[fmt::format("cluster {} is not in {}, or not what the costs are of", run.cluster,
                             options.clusters)];
    else
      chosen.push_back(&run);
  out.left_out.assign(left_out.begin(), left_out.end());
  if (chosen.empty())
    throw core::BadInput("no run can be predicted: " +
                         (left_out.empty() ? "there are none" : left_out.begin()->first));

  std::vector<std::optional<Stated>> stated(chosen.size());
  out.as_stated.resize(chosen.size());
  std::atomic<std::size_t> done = 0;
  const std::size_t total = (1 + std::size(kRanges)) * chosen.size();
  core::parallel_for(chosen.size(), [&](std::size_t i) {
    stop.check();
    stated[i].emplace(*chosen[i], clusters.at(chosen[i]->cluster), costs);
    out.as_stated[i] = stated[i]->predict(stop);
    if (options.progress) options.progress(++done, total);
  });

  if (const auto* estimated = dynamic_cast<const cost::EstimatedCosts*>(&costs))
    out.coverage = coverage_of(stated, [&](const Stated& run) { return run.coverage(*estimated); });
  if (costs.collectives() != nullptr)
    out.collectives = coverage_of(stated, [](const Stated& run) { return run.collectives(); });
  ByCluster fit, rest;
  for (const auto& one : stated) (fitted_on(one->run()) ? fit : rest)[one->run().cluster].push_back(&*one);
  for (const Range& range : kRanges) {
    FittedRung rung = fitted(range, fit, rest, stop, [&] {
      if (options.progress) options.progress(++done, total);
    });
    if (!rung.constants.empty()) out.fitted.push_back(std::move(rung));
  }
  if (FittedRung rung = reserved(out.as_stated); !rung.constants.empty())
    out.fitted.push_back(std::move(rung));
  return out;
}

}  // namespace penstock::experiment
