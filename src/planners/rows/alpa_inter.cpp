#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "families.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "rows/row_search.hpp"
#include "rows/submeshes.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;
using Devices = std::vector<DeviceId>;
constexpr int kMostAlpaLayers = 128;

/// Hosts of a cluster; the fullest determines the width of a submesh.
class HostList {
 public:
  explicit HostList(const cluster::Cluster& cluster) {
    std::map<int, Devices> by_node;
    for (std::size_t d = 0; d < cluster.size(); ++d) by_node[cluster.node(DeviceId(d))].emplace_back(d);
    for (auto& [node, devices] : by_node) hosts_.push_back(std::move(devices));
  }

  std::size_t width() const {
    std::size_t most = 0;
    for (const Devices& host : hosts_) most = std::max(most, host.size());
    return most;
  }
  Devices whole() const {  ///< devices of hosts of full width
    Devices out;
    for (const Devices& host : hosts_)
      if (host.size() == width()) out.insert(out.end(), host.begin(), host.end());
    return out;
  }

  /// Submeshes in devices, ascending: 1 x 2^k within a host, n x width over whole hosts.
  std::vector<int> submeshes() const {
    std::vector<int> sizes;
    for (std::size_t r = 1; r < width(); r *= 2) sizes.push_back(static_cast<int>(r));
    for (std::size_t n = width(); n <= whole().size(); n += width()) sizes.push_back(static_cast<int>(n));
    return sizes;
  }

  /// Device sets that a submesh may represent: the slowest counts.
  std::vector<Devices> samples(std::size_t size) const {
    if (size > width()) {
      const Devices all = whole();
      return {{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size)}};
    }
    std::vector<Devices> out;
    for (const Devices& host : hosts_)
      if (host.size() >= size)
        out.push_back({host.begin(), host.begin() + static_cast<std::ptrdiff_t>(size)});
    return out;
  }

  /// Places larger submeshes first, each on the fullest host that has room; the rest goes on what is left
  /// over.
  std::vector<Devices> place(const std::vector<int>& sizes) const {
    std::vector<Devices> free = hosts_, out(sizes.size());
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
    for (std::size_t s : order)
      while (out[s].size() < static_cast<std::size_t>(sizes[s]))
        take(free, static_cast<std::size_t>(sizes[s]), out[s]);
    return out;
  }

 private:
  /// Takes devices from the host with the fewest free devices that suffice, otherwise from the one with the
  /// most.
  static void take(std::vector<Devices>& free, std::size_t size, Devices& out) {
    const std::size_t wanted = size - out.size();
    std::size_t chosen = 0;
    const auto better = [&](const Devices& a, const Devices& b) {
      const bool a_suffices = a.size() >= wanted, b_suffices = b.size() >= wanted;
      if (a_suffices != b_suffices) return a_suffices;
      return a_suffices ? a.size() < b.size() : a.size() > b.size();
    };
    for (std::size_t h = 1; h < free.size(); ++h)
      if (better(free[h], free[chosen])) chosen = h;
    const auto count = static_cast<std::ptrdiff_t>(std::min(wanted, free[chosen].size()));
    core::require(count > 0, "submeshes have as many devices as the cluster");
    out.insert(out.end(), free[chosen].begin(), free[chosen].begin() + count);
    free[chosen].erase(free[chosen].begin(), free[chosen].begin() + count);
  }

  std::vector<Devices> hosts_;
};

class AlpaInter {
 public:
  AlpaInter(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), hosts_(problem.cluster) {}

  std::optional<RowPlan> at_size(const PlanningLayers& layers, const RowTrial& trial,
                                 std::uint64_t& states) const {
    const SubmeshCosts costs = price(layers, trial);
    if (costs.sizes.empty()) return std::nullopt;
    const auto found = least_sum_and_slowest(costs, stop_);
    if (!found) return std::nullopt;
    states += found->states;
    std::vector<int> sizes;
    for (const SubmeshStage& stage : found->stages) sizes.push_back(costs.sizes[stage.submesh]);
    const auto devices = hosts_.place(sizes);
    std::vector<RowStage> stages;
    for (std::size_t s = 0; s < sizes.size(); ++s)
      stages.push_back({found->stages[s].begin, found->stages[s].end, devices[s]});
    RowPlan out{plan_in_row(problem_, layers, stages, trial.flow.samples, "1f1b"),
                found->slowest,
                core::Seconds(found->total),
                {}};
    schedule::derive_in_flight(out.plan, plan::StageGraph(problem_.graph, out.plan));
    out.verdict = judged(options_, out.plan, out.estimate, trial.to_beat());
    return out;
  }

 private:
  SubmeshCosts price(const PlanningLayers& layers, const RowTrial& trial) const {
    SubmeshCosts costs;
    costs.layers = layers.size();
    costs.devices = static_cast<int>(problem_.cluster.size());
    costs.micro_batches = static_cast<int>(problem_.training.mini_batch / trial.flow.samples);
    costs.sizes = hosts_.submeshes();
    std::erase_if(costs.sizes, [&](int r) { return r > trial.flow.samples || !trial.flow.allows(r); });
    costs.cost.assign(static_cast<std::size_t>(layers.size() * layers.size()) * costs.sizes.size(),
                      std::numeric_limits<double>::infinity());
    costs.most_following.assign(costs.cost.size(), -1);
    SlicePrices prices(problem_, layers, trial.flow.samples, trial.memory);
    for (std::size_t m = 0; m < costs.sizes.size(); ++m) {
      stop_.check();
      price(costs, m, layers, prices, trial);
    }
    return costs;
  }

  /// Prices a submesh. A stage must fit wherever it is placed, so the smallest memory in the cluster counts.
  void price(SubmeshCosts& costs, std::size_t submesh, const PlanningLayers& layers, SlicePrices& prices,
             const RowTrial& trial) const {
    const auto size = static_cast<std::size_t>(costs.sizes[submesh]);
    std::vector<int> slices;
    for (const Devices& sample : hosts_.samples(size)) {
      stop_.check();
      slices.push_back(prices.of(sample));
    }
    std::sort(slices.begin(), slices.end());
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
    Devices all;
    for (std::size_t d = 0; d < problem_.cluster.size(); ++d) all.emplace_back(d);
    const core::Bytes least = least_memory(problem_.cluster, all, trial.memory);
    const std::int64_t samples =
        cost::samples_per_device(trial.flow.samples, static_cast<std::int64_t>(size));
    for (int begin = 0; begin < costs.layers; ++begin)
      for (int end = begin + 1; end <= costs.layers; ++end) {
        double slowest = 0, work = 0;
        for (int slice : slices) {
          const PhaseTimes& times = prices[slice].times[layers.index(begin, end)];
          slowest = std::max(slowest, times.both() + times.reduce / costs.micro_batches);
          work = std::max(work, costs.micro_batches * times.both());
        }
        if (work >= options_.give_up.value()) break;  // longer runs, too
        const std::size_t at = costs.index(begin, end - 1, submesh, 0);
        const int room = layers.room(begin, end, samples, least, costs.micro_batches);
        costs.cost[at] = slowest;
        costs.most_following[at] = room >= costs.micro_batches ? costs.devices : room - 1;
      }
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  HostList hosts_;
};

}  // namespace

// Zheng et al., "Alpa: Automating Inter- and Intra-Operator Parallelism for Distributed Deep Learning", OSDI
// 2022, section 5.2. Differs: a stage runs on a submesh only with data parallelism (no sharded operators),
// its all-reduce divided by the micro-batches. Limits are tried exactly; the micro-batch size is chosen
// differently.
SearchResult alpa_inter(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  if (options.any_degree)
    throw core::BadInput("alpa_inter: submeshes are powers of two within a host, or whole hosts");
  const AlpaInter planner(problem, options, stop);
  return search_row(
      problem, options, "alpa_inter", kMostAlpaLayers,
      [&](const PlanningLayers& layers, const RowTrial& trial, std::uint64_t& states) {
        return planner.at_size(layers, trial, states);
      },
      stop);
}

}  // namespace penstock::planners
