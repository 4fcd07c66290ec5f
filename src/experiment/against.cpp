#include "penstock/experiment/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>

#include "fitted_constants.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/cost/plausible.hpp"
#include "penstock/experiment/inputs.hpp"

namespace penstock::experiment {
namespace {

using report::PublishedPrediction;
using report::PublishedRun;

/// Clusters by name, for runs whose cluster has a file and whose devices the costs support.
std::map<std::string, cluster::Cluster> load_clusters(const std::vector<PublishedRun>& runs,
                                                      const cost::CostModel& costs,
                                                      const AgainstOptions& options) {
  std::map<std::string, cluster::Cluster> out;
  for (const PublishedRun& run : runs) {
    if (!unstated(run).empty() || out.contains(run.cluster)) continue;
    const auto file = std::filesystem::path(options.clusters) / (run.cluster + ".yaml");
    if (!std::filesystem::exists(file)) continue;
    const cluster::Cluster cluster = load_cluster({file.string(), 0});
    if (options.allow_foreign || costs.foreign(cluster).empty()) out.emplace(run.cluster, cluster);
  }
  return out;
}

/// Coverage by set; every run is weighted by the time it computes, or communicates in tensor-parallel groups.
/// Sets without such time are left out.
std::vector<SetCoverage> coverage_of(const std::vector<std::optional<StatedRun>>& stated,
                                     const std::function<cost::OriginCoverage(const StatedRun&)>& coverage) {
  std::vector<cost::OriginCoverage> of_run(stated.size());
  core::parallel_for(stated.size(), [&](std::size_t i) { of_run[i] = coverage(*stated[i]); });
  std::vector<std::string> order;
  std::map<std::string, cost::OriginCoverage> sums;
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
      one.share[o] = sums[set].time_share(static_cast<cost::TimeOrigin>(o));
  }
  return out;
}

/// Reason to doubt a run's unit; "" if there is none.
std::string doubt_of(const StatedRun& run, double predicted_s) {
  constexpr double kFar = 100;
  const PublishedRun& row = run.run();
  const std::string who = fmt::format("measured_s of run '{}' of '{}'", row.id, row.set);
  if (const auto wrong = cost::above_whole(run.measured_mfu()); !wrong.empty())
    return fmt::format("{}: {} s mean {}; most likely another unit than seconds", who, row.measured_s, wrong);
  const double off = row.measured_s / predicted_s;
  if (off > kFar || off < 1 / kFar)
    return fmt::format("{}: {} s, where {:.3g} s are predicted; most likely another unit than seconds", who,
                       row.measured_s, predicted_s);
  if (row.measured_gib && *row.measured_gib > run.device_gib())
    return fmt::format("measured_gib of run '{}' of '{}': {} GiB, of devices that have {:.4g} GiB", row.id,
                       row.set, *row.measured_gib, run.device_gib());
  return "";
}

/// Runs that can be expressed, on known clusters; the others are counted in `left_out`.
std::vector<const PublishedRun*> choose(const std::vector<PublishedRun>& runs,
                                        const std::map<std::string, cluster::Cluster>& clusters,
                                        const std::string& folder, PublishedComparison& out) {
  std::map<std::string, std::size_t> left_out;
  std::vector<const PublishedRun*> chosen;
  for (const PublishedRun& run : runs)
    if (const std::string what = unstated(run); !what.empty())
      ++left_out[what];
    else if (!clusters.contains(run.cluster))
      ++left_out[fmt::format("cluster {} is not in {}, or not what the costs are of", run.cluster, folder)];
    else
      chosen.push_back(&run);
  out.left_out.assign(left_out.begin(), left_out.end());
  if (chosen.empty())
    throw core::BadInput("no run can be predicted: " +
                         (left_out.empty() ? "there are none" : left_out.begin()->first));
  return chosen;
}

}  // namespace

bool fitted_on(const PublishedRun& run) {
  if (run.measured_s == 0) return false;
  const std::string digest = core::digest(run.set + "\n" + run.id + "\n" + std::to_string(run.devices));
  return std::stoul(digest.substr(0, 7), nullptr, 16) % 10 == 0;
}

PublishedPrediction predicted(const PublishedRun& run, const cluster::Cluster& cluster,
                              const cost::CostModel& costs, core::StopToken stop) {
  return StatedRun(run, cluster, costs).predict(stop);
}

PublishedComparison against(const std::vector<PublishedRun>& runs, const cost::CostModel& costs,
                            const AgainstOptions& options, core::StopToken stop) {
  PublishedComparison out;
  const auto clusters = load_clusters(runs, costs, options);
  const auto chosen = choose(runs, clusters, options.clusters, out);

  std::vector<std::optional<StatedRun>> stated(chosen.size());
  std::vector<PublishedPrediction> predictions(chosen.size());
  std::atomic<std::size_t> done = 0;
  const std::size_t total = 2 * chosen.size();
  core::parallel_for(chosen.size(), [&](std::size_t i) {
    stop.check();
    stated[i].emplace(*chosen[i], clusters.at(chosen[i]->cluster), costs, options.framework);
    predictions[i] = stated[i]->predict(stop);
    if (options.progress) options.progress(++done, total);
  });
  std::vector<const StatedRun*> measured;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    (chosen[i]->measured_s > 0 ? out.as_stated : out.unmeasured).push_back(predictions[i]);
    if (!(chosen[i]->measured_s > 0)) continue;
    measured.push_back(&*stated[i]);
    if (auto doubt = doubt_of(*stated[i], predictions[i].seconds); !doubt.empty())
      out.doubts.emplace_back(chosen[i]->line, std::move(doubt));
  }

  if (const auto* estimated = dynamic_cast<const cost::EstimatedCosts*>(&costs))
    out.coverage = coverage_of(stated, [&](const StatedRun& run) { return run.coverage(*estimated); });
  if (costs.collectives() != nullptr)
    out.collectives = coverage_of(stated, [](const StatedRun& run) { return run.collectives(); });
  out.time = fit_times(measured, stop, [&] {
    if (options.progress) options.progress(++done, total);
  });
  out.memory = fit_memory(out.as_stated);
  return out;
}

}  // namespace penstock::experiment
