#include "fitted_constants.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "line_search.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/statistics.hpp"

namespace penstock::experiment {
namespace {

using report::PublishedPrediction;
using report::PublishedRun;

constexpr SearchRange kSlowdown{0.5, 0.25, 14, 1e4};
constexpr SearchRange kHost{0, 8e-6, 25, 1e8};  // hundredths of a microsecond
constexpr std::size_t kFewestOfHost = 8;        // with fewer runs, few depend on their host

using Runs = std::vector<const StatedRun*>;

double mean_error(ClusterConstant what, double value, const Runs& runs, core::StopToken stop) {
  std::vector<double> errors(runs.size());
  core::parallel_for(runs.size(), [&](std::size_t i) { errors[i] = runs[i]->error(what, value, stop); });
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(runs.size());
}

FittedConstant best_of(ClusterConstant what, const Runs& runs, core::StopToken stop) {
  const SearchRange& range = what == ClusterConstant::host_launch ? kHost : kSlowdown;
  const double value = least_error(range, [&](double at) { return mean_error(what, at, runs, stop); });
  return {{}, {}, what, value, runs.size(), false, mean_error(what, value, runs, stop), {}};
}

/// Returns the slow-down of kernels, which every run determines, or the host's time, whichever leaves less
/// error.
FittedConstant best_constant(const Runs& runs, core::StopToken stop) {
  FittedConstant slowdown = best_of(ClusterConstant::kernel_slowdown, runs, stop);
  if (runs.size() < kFewestOfHost) return slowdown;
  FittedConstant host = best_of(ClusterConstant::host_launch, runs, stop);
  slowdown.rejected = host.residual;
  host.rejected = slowdown.residual;
  return host.residual < slowdown.residual ? host : slowdown;
}

/// Constant fitted on the chosen runs of other sets on the cluster; none if there are none.
std::optional<FittedConstant> constant_of_others(const Runs& runs, core::StopToken stop) {
  if (runs.empty()) return {};
  FittedConstant out = best_of(ClusterConstant::kernel_slowdown, runs, stop);
  out.of_others = true;
  return out;
}

using Place = std::pair<std::string, std::string>;  ///< cluster, set

Place place_of(const PublishedRun& run) {
  return {run.cluster, run.set};
}

}  // namespace

FittedRung fit_times(const std::vector<const StatedRun*>& runs, core::StopToken stop,
                     const std::function<void()>& predicted) {
  std::map<Place, Runs> fit, rest;
  std::map<std::string, Runs> fit_on_cluster;
  for (const StatedRun* run : runs) {
    (fitted_on(run->run()) ? fit : rest)[place_of(run->run())].push_back(run);
    if (fitted_on(run->run())) fit_on_cluster[run->run().cluster].push_back(run);
  }
  FittedRung out;
  for (const auto& [place, judged] : rest) {
    const auto chosen = fit.find(place);
    auto found = chosen == fit.end() ? constant_of_others(fit_on_cluster[place.first], stop)
                                     : best_constant(chosen->second, stop);
    if (!found) continue;
    FittedConstant& constant = *found;
    std::tie(constant.cluster, constant.set) = place;
    const std::size_t first = out.predictions.size();
    out.predictions.resize(first + judged.size());
    core::parallel_for(judged.size(), [&, &judged = judged](std::size_t i) {
      stop.check();
      out.predictions[first + i] = judged[i]->predict(constant.what, constant.value, stop);
      predicted();
    });
    out.constants.push_back(std::move(constant));
  }
  return out;
}

FittedRung fit_memory(const std::vector<PublishedPrediction>& as_stated) {
  std::map<Place, std::vector<double>> beside;  // GiB in addition to the plan
  std::map<Place, std::vector<PublishedPrediction>> rest;
  for (const PublishedPrediction& p : as_stated) {
    if (!p.run->measured_gib) continue;
    if (fitted_on(*p.run))
      beside[place_of(*p.run)].push_back(*p.run->measured_gib - p.gib);
    else
      rest[place_of(*p.run)].push_back(p);
  }
  FittedRung out;
  for (const auto& [place, judged] : rest) {
    auto chosen = beside.find(place);
    if (chosen == beside.end()) continue;
    std::vector<double>& gib = chosen->second;
    std::sort(gib.begin(), gib.end());
    constexpr double kHalf = 0.5, kDigits = 100;
    const double value = std::max(0.0, std::round(core::quantile(gib, kHalf) * kDigits) / kDigits);
    out.constants.push_back(
        {place.first, place.second, ClusterConstant::reserved_memory, value, gib.size(), false, {}, {}});
    for (PublishedPrediction p : judged) {
      p.gib += value;
      out.predictions.push_back(p);
    }
  }
  return out;
}

}  // namespace penstock::experiment
