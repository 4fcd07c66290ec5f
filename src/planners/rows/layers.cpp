#include "rows/layers.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graphpipe/stage_table.hpp"
#include "penstock/core/error.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;
using core::OpId;

/// A clustering of the first items: cost of its cuts, and the cut at which its last cluster starts.
struct LayerClustering {
  double widest = std::numeric_limits<double>::infinity();
  double squares = 0;
  int from = -1;
  friend bool operator<(const LayerClustering& a, const LayerClustering& b) {
    return std::pair(a.widest, a.squares) < std::pair(b.widest, b.squares);
  }
};

std::vector<int> ends_of_units(const cost::Problem& problem, const UnitGraph& units, const StageTable& table,
                               int most, std::int64_t largest, core::StopToken stop) {
  const int size = static_cast<int>(units.operators.size());
  std::vector<double> work, crossing{0};
  for (const auto& unit : units.operators)
    work.push_back(
        cost::compute_time(problem, unit, problem.cluster.type(core::DeviceId(0)), largest).total().value());
  for (int cut = 1; cut < size; ++cut) {
    stop.check();
    crossing.push_back(static_cast<double>(table.load({{0, cut}}).outputs.value()));
  }
  return cluster_row(work, crossing, most, stop);
}

}  // namespace

std::vector<int> cluster_row(const std::vector<double>& work, const std::vector<double>& crossing, int most,
                             core::StopToken stop) {
  const int size = static_cast<int>(work.size());
  std::vector<int> ends(work.size());
  std::iota(ends.begin(), ends.end(), 1);
  if (size <= most) return ends;
  const double limit = 2 * std::accumulate(work.begin(), work.end(), 0.0) / most;
  std::vector<std::vector<LayerClustering>> best(static_cast<std::size_t>(most) + 1,
                                                 std::vector<LayerClustering>(work.size() + 1));
  best[0][0] = {0, 0, -1};
  for (std::size_t k = 1; k < best.size(); ++k)
    for (int end = 1; end <= size; ++end) {
      stop.check();
      double sum = 0;
      for (int from = end - 1; from >= 0; --from) {
        const auto f = static_cast<std::size_t>(from);
        sum += work[f];
        if (sum > limit && from < end - 1) break;
        const LayerClustering& before = best[k - 1][f];
        const LayerClustering here{std::max(before.widest, crossing[f]), before.squares + sum * sum, from};
        best[k][static_cast<std::size_t>(end)] = std::min(best[k][static_cast<std::size_t>(end)], here);
      }
    }
  std::size_t k = 1;
  for (std::size_t other = 2; other < best.size(); ++other)
    if (best[other].back() < best[k].back()) k = other;
  core::require(best[k].back().from >= 0, "twice the mean work is room enough for a clustering");
  ends.clear();
  for (int end = size; end > 0; end = best[k--][static_cast<std::size_t>(end)].from) ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

PlanningLayers::PlanningLayers(const cost::Problem& problem, int most, std::int64_t largest,
                               core::StopToken stop)
    : problem_(problem) {
  const UnitGraph units = planning_units(problem.graph);
  const StageTable table(problem, units, arrange_in_row(units.operators.size()), {{largest}, {1}, 1}, stop);
  std::vector<int> cuts{0};
  for (int end : ends_of_units(problem, units, table, most, largest, stop)) {
    operators_.push_back(table.operators({{cuts.back(), end}}));
    cuts.push_back(end);
  }
  loads_.resize(ranges());
  for (int begin = 0; begin < size(); ++begin)
    for (int end = begin + 1; end <= size(); ++end) {
      stop.check();
      const StageSet set{{cuts[static_cast<std::size_t>(begin)], cuts[static_cast<std::size_t>(end)]}};
      cost::StageLoad& load = loads_[index(begin, end)];
      load = table.load(set);
      load.workspace = table.workspace(set);
    }
}

std::vector<OpId> PlanningLayers::operators(int begin, int end) const {
  std::vector<OpId> out;
  for (int l = begin; l < end; ++l) {
    const auto& layer = operators_[static_cast<std::size_t>(l)];
    out.insert(out.end(), layer.begin(), layer.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

PassSums PlanningLayers::passes(const cluster::DeviceType& type, std::int64_t samples) const {
  PassSums sums{{0}, {0}};
  for (const auto& layer : operators_) {
    const cost::OpTime time = cost::compute_time(problem_, layer, type, samples);
    sums.forward.push_back(sums.forward.back() + to_picoseconds(time.forward).value());
    sums.backward.push_back(sums.backward.back() + to_picoseconds(time.backward()).value());
  }
  return sums;
}

int PlanningLayers::room(int begin, int end, std::int64_t samples, Bytes memory, int most) const {
  const auto need = [&](int in_flight) {
    return cost::stage_memory(load(begin, end), problem_.memory, problem_.training, samples, in_flight);
  };
  plan::MemoryByKind none = need(0), one = need(1);
  if (memory < plan::total(none)) return 0;
  at(none, plan::MemoryKind::step) = at(one, plan::MemoryKind::step) = Bytes(0);  // not while passes run
  const Bytes fixed = plan::total(none), each = plan::total(one) - fixed;
  if (each.value() == 0) return most;
  return static_cast<int>(std::min<std::int64_t>(most, (memory - fixed).value() / each.value()));
}

}  // namespace penstock::planners
