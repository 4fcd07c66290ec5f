#include <algorithm>
#include <map>
#include <utility>

#include "families.hpp"
#include "rows/dapple_search.hpp"
#include "rows/row_search.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;
using Devices = std::vector<DeviceId>;
constexpr int kMostDappleLayers = 128;
constexpr int kMostKept = 256;

class DapplePlanner {
 public:
  DapplePlanner(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop)
      : problem_(problem),
        options_(options),
        stop_(stop),
        routes_(problem.cluster, problem.training.compression, stop) {
    std::map<int, Devices> machines;
    for (std::size_t d = 0; d < problem.cluster.size(); ++d)
      machines[problem.cluster.node(DeviceId(d))].emplace_back(d);
    for (const auto& [node, devices] : machines) {
      capacity_.push_back(static_cast<int>(devices.size()));
      devices_.insert(devices_.end(), devices.begin(), devices.end());
    }
  }

  std::optional<RowPlan> at_size(const PlanningLayers& layers, const RowTrial& trial,
                                 std::uint64_t& states) const {
    SlicePrices prices(problem_, layers, trial.flow.samples, trial.memory);
    DappleCosts costs = bounds(layers, trial.flow);
    costs.stage = [&](const std::vector<int>& set) { return &prices[prices.of(devices(set))]; };
    TransferTables tables(layers);
    costs.transfer = [&](const std::vector<int>& front, const std::vector<int>& behind) {
      return &tables.of(junction(routes_, devices(front), devices(behind), trial.flow.samples));
    };
    if (!by_evaluation(options_)) costs.give_up = trial.give_up;
    costs.most_work = options_.give_up.value();
    const auto found = least_latency(costs, kMostKept, stop_);
    if (!found) return std::nullopt;
    states += found->states;
    return planned(layers, *found, costs, prices, trial);
  }

 private:
  Devices devices(const std::vector<int>& set) const {
    Devices out;
    for (int d : set) out.push_back(devices_[static_cast<std::size_t>(d)]);
    return out;
  }

  /// Costs without the two functions.
  DappleCosts bounds(const PlanningLayers& layers, const PipelineFlow& flow) const {
    const std::int64_t micro_batch = flow.samples;
    DappleCosts costs;
    costs.layers = layers.size();
    costs.micro_batches = static_cast<int>(problem_.training.mini_batch / micro_batch);
    costs.machines = capacity_;
    for (int r : replica_counts(options_, static_cast<int>(devices_.size())))
      if (r <= micro_batch && flow.allows(r)) costs.replicas.push_back(r);
    LeastWork least = least_work(problem_, layers, micro_batch, costs.replicas);
    costs.least_forward = std::move(least.forward);
    costs.least_both = std::move(least.both);
    return costs;
  }

  /// Warm-up depth as in the paper's policy B, 2 (S - s) - 1 micro-batches from stage s = 0 on, if memory
  /// allows. An addition of ours: a stage holds fewer than the one in front of it, which would otherwise run
  /// out of work, unless that one holds all.
  RowPlan planned(const PlanningLayers& layers, const DapplePlan& found, const DappleCosts& costs,
                  SlicePrices& prices, const RowTrial& trial) const {
    const std::int64_t micro_batch = trial.flow.samples;
    std::vector<RowStage> stages;
    RowPlan out;
    for (const DappleStage& stage : found.stages)
      stages.push_back({stage.begin, stage.end, devices(stage.devices)});
    out.plan = plan_in_row(problem_, layers, stages, micro_batch, "1f1b");
    int held = costs.micro_batches;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const SliceCosts& slice = prices[prices.of(stages[s].devices)];
      const std::size_t range = layers.index(stages[s].begin, stages[s].end);
      const int following = static_cast<int>(stages.size() - s) - 1;
      if (held < costs.micro_batches) --held;
      held = std::min({held, slice.room[range], 2 * following + 1});
      out.plan.stages[s].in_flight = held * micro_batch;
      out.bottleneck = std::max(out.bottleneck,
                                slice.times[range].both() + slice.times[range].reduce / costs.micro_batches);
    }
    out.estimate = core::Seconds(found.latency);
    out.verdict = judged(options_, out.plan, out.estimate, trial.to_beat());
    return out;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  RouteTable routes_;
  Devices devices_;     ///< machine by machine
  Occupancy capacity_;  ///< [machine]
};

}  // namespace

// Fan et al., "DAPPLE: A Pipelined Data Parallel Approach for Training Large Models", PPoPP 2021: the paper's
// latency and placement rules. Differences: see dapple_latency and least_latency. The published code differs
// more: it minimises only the slowest stage, without all-reduces, and scores a few candidates afterwards.
SearchResult dapple(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  const DapplePlanner planner(problem, options, stop);
  return search_row(
      problem, options, "dapple", kMostDappleLayers,
      [&](const PlanningLayers& layers, const RowTrial& trial, std::uint64_t& states) {
        return planner.at_size(layers, trial, states);
      },
      stop);
}

}  // namespace penstock::planners
