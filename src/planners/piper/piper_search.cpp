#include "piper/piper_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "piper/piper_table.hpp"

namespace penstock::planners {
namespace {

using graph::Vertex;

constexpr double kJustBelow = 1 - 6e-13;  // three times the tolerance of PiperCosts::fits
constexpr double kNoBound = 1e300;

class PiperSearch {
 public:
  PiperSearch(const graph::PiperWorkload& workload, const PiperLattice& lattice, const PiperOptions& options,
              core::StopToken stop)
      : workload_(workload),
        options_(options),
        stop_(stop),
        lattice_(lattice),
        costs_(workload, lattice, options.rules, stop),
        table_(lattice, costs_) {}

  std::optional<PiperPlan> run() {
    const double work = costs_.work(lattice_.size() - 1);
    if (!std::isfinite(work)) return std::nullopt;  // some layer offers no degree for which there are devices
    double low = work / workload_.setting.devices;
    if (low >= options_.below / factor(1)) return std::nullopt;
    const int any = options_.flush ? static_cast<int>(workload_.layers.size()) : 0;
    auto best = attempt(std::min(kNoBound, options_.below / factor(1) * kJustBelow), any);
    if (!best) return std::nullopt;
    try {
      approach(*best, low, any);
      improve(*best, low, any);
      if (options_.flush) shorten(*best, low);
    } catch (const core::LimitHit&) {
      best->complete = false;
    }
    best->states = states_;
    return best;
  }

 private:
  /// Returns any plan within `time` per micro-batch and, unless 0, this many stages.
  std::optional<PiperPlan> attempt(double time, int stages) {
    const double most_work = options_.give_up / workload_.setting.micro_batches;
    table_.fill({time, std::min(time, most_work), stages, options_.all_devices}, stop_);
    states_ += table_.states();
    auto found = table_.plan();
    table_.remember(found.has_value());
    if (!found) return std::nullopt;
    PiperPlan plan{.stages = std::move(*found)};
    plan.time_per_micro_batch = piper_time(workload_, plan.stages);
    plan.iteration = plan.time_per_micro_batch * factor(static_cast<int>(plan.stages.size()));
    return plan;
  }

  double factor(int stages) const {
    return workload_.setting.micro_batches + (options_.flush ? stages - 1 : 0);
  }

  /// Searches upwards from the bound, where failing is fast and the optimum often near.
  void approach(PiperPlan& best, double& low, int stages) {
    const double bound = low;
    for (double step = 0.01; low > 0 && bound * (1 + step) < best.time_per_micro_batch; step *= 2) {
      if (auto found = attempt(bound * (1 + step), stages)) {
        best = std::move(*found);
        return;
      }
      low = bound * (1 + step);
    }
  }

  /// Narrows down to the minimum time; no plan within `low` is known, before and after. Halves the gap; once
  /// it is small, tries just below the best plan, which ends the search when it fails.
  void improve(PiperPlan& best, double& low, int stages) {
    bool just_below = false;
    while (low < best.time_per_micro_batch * kJustBelow) {
      const double high = best.time_per_micro_batch;
      const double middle = low > 0 && low < high / 4 ? std::sqrt(low * high) : low + (high - low) / 2;
      const double time = just_below ? high * kJustBelow : std::min(middle, high * kJustBelow);
      auto found = attempt(time, stages);
      const bool better = found && found->time_per_micro_batch < high;
      if (better)
        best = std::move(*found);
      else
        low = time;
      just_below = better && !just_below && best.time_per_micro_batch - low < 0.01 * low;
    }
  }

  /// With fill and drain counted, fewer stages may win although each is slower. If no plan exists within
  /// `low`, none with fewer stages does.
  void shorten(PiperPlan& best, double low) {
    for (int stages = static_cast<int>(best.stages.size()) - 1; stages >= 1; --stages) {
      const double most = best.iteration / factor(stages) * kJustBelow;
      if (most <= low) continue;
      auto found = attempt(most, stages);
      if (!found) {
        low = most;
        continue;
      }
      improve(*found, low, stages);
      if (found->iteration < best.iteration) best = std::move(*found);
      stages = std::min(stages, static_cast<int>(best.stages.size()));
    }
  }

  const graph::PiperWorkload& workload_;
  const PiperOptions& options_;
  core::StopToken stop_;
  const PiperLattice& lattice_;
  PiperCosts costs_;
  PiperTable table_;
  std::uint64_t states_ = 0;
};

const graph::PiperDegree& degree_of(const graph::PiperLayer& layer, int degree) {
  return *std::find_if(layer.degrees.begin(), layer.degrees.end(),
                       [&](const auto& d) { return d.degree == degree; });
}

double sync(const std::vector<double>& bytes, const graph::PiperLayer& layer, int degree) {
  const auto t = static_cast<std::size_t>(&degree_of(layer, degree) - layer.degrees.data());
  return t < bytes.size() ? bytes[t] : 0;
}

}  // namespace

double piper_time(const graph::PiperWorkload& workload, const std::vector<PiperStage>& stages) {
  double slowest = 0;
  for (const PiperStage& stage : stages) {
    const auto inside = [&](Vertex v) {
      return std::binary_search(stage.layers.begin(), stage.layers.end(), v);
    };
    const auto layer = [&](Vertex v) -> const graph::PiperLayer& {
      return workload.layers[static_cast<std::size_t>(v)];
    };
    double time = 0, weights = 0, crossing = 0;
    for (std::size_t k = 0; k < stage.layers.size(); ++k) {
      const auto& degree = degree_of(layer(stage.layers[k]), stage.tensor_degree);
      time += degree.configurations[static_cast<std::size_t>(stage.configurations[k])].time;
      weights += degree.weights;
    }
    for (const auto& edge : workload.edges) {
      if (inside(edge.from) && !inside(edge.to))
        crossing += edge.bytes + sync(edge.leaving, layer(edge.from), stage.tensor_degree);
      if (!inside(edge.from) && inside(edge.to))
        crossing += edge.bytes + sync(edge.entering, layer(edge.to), stage.tensor_degree);
    }
    slowest = std::max(slowest, piper_load(time, crossing, weights, stage.data_degree, workload.setting));
  }
  return slowest;
}

std::optional<PiperPlan> piper_search(const graph::PiperWorkload& workload, const PiperLattice& lattice,
                                      const PiperOptions& options, core::StopToken stop) {
  return PiperSearch(workload, lattice, options, stop).run();
}

std::optional<PiperPlan> piper_search(const graph::PiperWorkload& workload, const PiperOptions& options,
                                      core::StopToken stop) {
  return piper_search(workload, PiperLattice(dag_of(workload), kMostDownsets, stop), options, stop);
}

}  // namespace penstock::planners
