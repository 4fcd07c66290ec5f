#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "families.hpp"
#include "penstock/schedule/list_order.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/plan_pipeline.hpp"
#include "rows/device_order.hpp"
#include "rows/mapping.hpp"
#include "rows/row_search.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;
constexpr int kMostSppLayers = 128;
constexpr int kMostStages = 64;
constexpr std::size_t kMostCells = std::size_t{1} << 25;  // of a mapping's table: 256 MiB
constexpr std::size_t kMostForAnyDegree = 64;             // maximum devices: transfers grow with their cube

/// The cluster along the device order; equal for all micro-batch sizes.
class OrderedDevices {
 public:
  OrderedDevices(const cost::Problem& problem, core::StopToken stop)
      : routes_(problem.cluster, problem.training.compression, stop) {
    for (std::size_t d : device_order(problem.cluster, stop)) order_.emplace_back(d);
  }
  int size() const { return static_cast<int>(order_.size()); }
  std::vector<DeviceId> slice(int first, int count) const {
    return {order_.begin() + first, order_.begin() + first + count};
  }
  /// Junction between `count` devices from `first` on and the `next` behind them.
  JunctionCosts between(int first, int count, int next, std::int64_t micro_batch) const {
    return junction(routes_, slice(first, count), slice(first + count, next), micro_batch);
  }

 private:
  RouteTable routes_;
  std::vector<DeviceId> order_;
};

/// Loads for W, which counts an all-reduce as work of every micro-batch. Stages that compute `give_up` s in
/// total are excluded.
std::vector<double> loads(const std::vector<PhaseTimes>& times, int micro_batches, double give_up) {
  std::vector<double> out;
  for (const PhaseTimes& stage : times)
    out.push_back(micro_batches * stage.both() < give_up ? stage.both() + stage.reduce / micro_batches
                                                         : std::numeric_limits<double>::infinity());
  return out;
}

void add_slices(MappingCosts& costs, const OrderedDevices& devices, SlicePrices& prices, double give_up,
                core::StopToken stop) {
  for (int i = 0; i < costs.devices; ++i) {
    costs.slice.emplace_back();
    for (int count : costs.replicas) {
      stop.check();
      costs.slice.back().push_back(i + count <= costs.devices ? prices.of(devices.slice(i, count)) : -1);
    }
  }
  for (int slice = 0; slice < prices.size(); ++slice) {
    costs.stage.push_back(loads(prices[slice].times, costs.micro_batches, give_up));
    costs.room.push_back(prices[slice].room);
  }
}

/// Links carry both directions at once, so the slower one counts.
std::vector<double> slower_ways(const std::vector<PhaseTimes>& transfers) {
  std::vector<double> out;
  for (const PhaseTimes& transfer : transfers) out.push_back(std::max(transfer.forward, transfer.backward));
  return out;
}

void add_junctions(MappingCosts& costs, const OrderedDevices& devices, const PlanningLayers& layers,
                   std::int64_t micro_batch, core::StopToken stop) {
  const std::size_t counts = costs.replicas.size();
  costs.transfer.resize(static_cast<std::size_t>(costs.devices) * counts * counts);
  for (int i = 0; i < costs.devices; ++i)
    for (std::size_t r = 0; r < counts; ++r)
      for (std::size_t next = 0; next < counts; ++next) {
        stop.check();
        if (i + costs.replicas[r] + costs.replicas[next] <= costs.devices)
          costs.transfer[costs.junction(i, r, next)] = slower_ways(
              transfers(layers, devices.between(i, costs.replicas[r], costs.replicas[next], micro_batch)));
      }
}

class SppLuo {
 public:
  SppLuo(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop)
      : problem_(problem),
        options_(options),
        stop_(stop),
        devices_(problem, stop),
        replicas_(replica_counts(options, static_cast<int>(problem.cluster.size()))) {}

  /// Returns the plan with the shortest iteration over all stage counts.
  std::optional<RowPlan> at_size(const PlanningLayers& layers, const RowTrial& trial,
                                 std::uint64_t& states) const {
    const MappingCosts costs = price(layers, trial);
    const MappingTable mapping(costs, most_stages(costs), trial.give_up / costs.micro_batches, stop_);
    states += mapping.states();
    std::optional<RowPlan> best;
    for (int count : by_bottleneck(mapping)) {
      if (best && stop_.limit_hit()) {
        best->complete = false;
        break;
      }
      stop_.check();
      const auto stages = mapping.stages(count);
      const double to_beat = best ? best->verdict.iteration.value() : trial.give_up;
      if (!by_evaluation(options_) && slowest(costs, stages) * costs.micro_batches >= to_beat) continue;
      auto plan = scheduled(layers, costs, stages, trial.flow.samples,
                            std::min(core::Seconds(to_beat), trial.to_beat()));
      if (!plan || (best && plan->verdict >= best->verdict)) continue;
      best = std::move(plan);
      best->bottleneck = mapping.bottleneck(count);
    }
    return best;
  }

 private:
  MappingCosts price(const PlanningLayers& layers, const RowTrial& trial) const {
    MappingCosts costs;
    costs.layers = layers.size();
    costs.devices = devices_.size();
    costs.micro_batches = static_cast<int>(problem_.training.mini_batch / trial.flow.samples);
    for (int r : replicas_)
      if (r <= trial.flow.samples && trial.flow.allows(r)) costs.replicas.push_back(r);
    if (std::isfinite(options_.give_up.value())) {
      costs.least_work = least_work(problem_, layers, trial.flow.samples, costs.replicas).both;
      costs.most_work = options_.give_up.value() / costs.micro_batches;
    }
    SlicePrices prices(problem_, layers, trial.flow.samples, trial.memory);
    add_slices(costs, devices_, prices, options_.give_up.value(), stop_);
    add_junctions(costs, devices_, layers, trial.flow.samples, stop_);
    return costs;
  }

  static int most_stages(const MappingCosts& costs) {
    const auto cells = static_cast<std::size_t>(costs.layers + 1) *
                       static_cast<std::size_t>(costs.devices + 1) * (costs.replicas.size() + 1);
    return static_cast<int>(std::clamp<std::size_t>(kMostCells / cells, 1, kMostStages));
  }

  static std::vector<int> by_bottleneck(const MappingTable& mapping) {
    std::vector<int> counts;
    for (int x = 1; x <= mapping.most_stages(); ++x)
      if (mapping.bottleneck(x) < std::numeric_limits<double>::infinity()) counts.push_back(x);
    std::stable_sort(counts.begin(), counts.end(),
                     [&](int a, int b) { return mapping.bottleneck(a) < mapping.bottleneck(b); });
    return counts;
  }

  static std::size_t slice_of(const MappingCosts& costs, const MappedStage& stage) {
    const auto r =
        std::find(costs.replicas.begin(), costs.replicas.end(), stage.count) - costs.replicas.begin();
    return static_cast<std::size_t>(
        costs.slice[static_cast<std::size_t>(stage.device)][static_cast<std::size_t>(r)]);
  }

  /// Seconds per micro-batch of the slowest stage, its all-reduce included: a lower bound on every estimate.
  static double slowest(const MappingCosts& costs, const std::vector<MappedStage>& stages) {
    double slowest = 0;
    for (const MappedStage& stage : stages)
      slowest = std::max(slowest, costs.stage[slice_of(costs, stage)][costs.range(stage.begin, stage.end)]);
    return slowest;
  }

  /// Schedules the stages. They hold what their order holds without limits, if memory allows. Returns nothing
  /// if no order is fast enough.
  std::optional<RowPlan> scheduled(const PlanningLayers& layers, const MappingCosts& costs,
                                   const std::vector<MappedStage>& stages, std::int64_t micro_batch,
                                   core::Seconds to_beat) const {
    std::vector<RowStage> placed;
    for (const MappedStage& stage : stages)
      placed.push_back({stage.begin, stage.end, devices_.slice(stage.device, stage.count)});
    RowPlan out{plan_in_row(problem_, layers, placed, micro_batch, "list_order"), 0, {}, {}};
    if (evaluated_at_least(options_, out.plan) > to_beat) return std::nullopt;
    score::derive_in_flight(problem_, out.plan);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const int room = costs.room[slice_of(costs, stages[s])][costs.range(stages[s].begin, stages[s].end)];
      out.plan.stages[s].in_flight = std::min(out.plan.stages[s].in_flight, room * micro_batch);
    }
    out.estimate = to_seconds(schedule::list_order(score::pipeline_of(problem_, out.plan)).makespan);
    out.verdict = judged(options_, out.plan, out.estimate, to_beat);
    return out;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  OrderedDevices devices_;
  std::vector<int> replicas_;
};

}  // namespace

// Luo, Yi, Long, Fan, Wu, Yang, Lin, "Efficient Pipeline Planning for Expedited Distributed DNN Training",
// INFOCOM 2022. Reconstructed from the abstract: recursive min-cut device order, partition and mapping along
// it, list ordering, minimum makespan over stage counts. Differs: memory is a constraint, with at least the
// in-flight counts of 1F1B. Links carry both directions at once; halves of the order may be flipped; further
// limits are stated in the catalogue.
SearchResult spp_luo(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  if (options.any_degree && problem.cluster.size() > kMostForAnyDegree)
    throw core::BadInput(fmt::format(
        "spp_luo: replica counts of any size need a cluster of at most {} devices", kMostForAnyDegree));
  const SppLuo planner(problem, options, stop);
  return search_row(
      problem, options, "spp_luo", kMostSppLayers,
      [&](const PlanningLayers& layers, const RowTrial& trial, std::uint64_t& states) {
        return planner.at_size(layers, trial, states);
      },
      stop);
}

}  // namespace penstock::planners
