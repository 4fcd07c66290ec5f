#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "families.hpp"
#include "own_options.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "pipedream/pipedream_2bw_model.hpp"
#include "sweep.hpp"
#include "units.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;
using core::DeviceId;

struct TwoBuffered {
  plan::Plan plan;
  double seconds = 0;  ///< per sample, by the formula
  PlanVerdict verdict;
};

/// Seconds of the slowest stage by the dropped planner's formula, which counts numbers of four bytes and has
/// no recomputation.
double dropped_seconds(const std::vector<TwoBwStage>& stages, int width) {
  double slowest = 0;
  for (const TwoBwStage& stage : stages)
    slowest = std::max(slowest, dropped_two_bw_seconds(stage.forward + stage.backward, stage.weights / 4,
                                                       stage.outputs / 4, width));
  return slowest;
}

/// Slowest route from a device d to d + `distance` within blocks of `block` devices (0: all).
double slowest_route(const cluster::Cluster& cluster, std::size_t distance, std::size_t block) {
  double bandwidth = std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d + distance < cluster.size(); ++d)
    if (block == 0 || d / block == (d + distance) / block)
      bandwidth = std::min(bandwidth, cluster.route(DeviceId(d), DeviceId(d + distance)).bandwidth.value());
  return bandwidth;
}

/// The search at one micro-batch size.
class TwoBufferedAtSize {
 public:
  TwoBufferedAtSize(const cost::Problem& problem, const UnitGraph& units, std::int64_t samples, bool dropped)
      : problem_(problem),
        units_(units),
        samples_(samples),
        turns_(problem.training.mini_batch / samples),
        dropped_(dropped) {
    for (const auto& unit : units.operators) {
      times_.push_back(slowest(unit));
      work_.push_back(times_.back().total().value());
    }
  }

  std::optional<TwoBuffered> best(bool any_degree, core::StopToken stop) {
    std::optional<TwoBuffered> best;
    const int devices = static_cast<int>(problem_.cluster.size());
    for (int width = 1; width <= devices; ++width) {
      stop.check();
      const int depth = devices / width;
      if (!any_degree && (width & (width - 1)) != 0) continue;
      if (devices % width != 0 || turns_ % width != 0 || turns_ / width < depth) continue;
      if (static_cast<std::size_t>(depth) > work_.size()) continue;
      const plan::Plan split = this->split(width, depth);
      consider(split, false, best);
      if (!dropped_) consider(split, true, best);
    }
    return best;
  }
  std::uint64_t states() const { return shapes_; }
  /// Bytes of the fullest device, minimised over all shapes tried.
  Bytes least_need() const { return least_need_; }

 private:
  cost::OpTime slowest(const std::vector<core::OpId>& unit) const {
    cost::OpTime out;
    for (const cluster::DeviceType& type : problem_.cluster.types())
      if (const auto time = cost::compute_time(problem_, unit, type, samples_); time.total() > out.total())
        out = time;
    return out;
  }

  plan::Plan split(int width, int depth) const {
    plan::Plan plan;
    plan.training = problem_.training;
    plan.schedule = "pipedream_2bw";
    std::size_t unit = 0, device = 0;
    for (std::size_t end : balanced_ends(work_, depth)) {
      plan::Stage& stage = plan.stages.emplace_back();
      stage.micro_batch = samples_;
      for (; unit < end; ++unit)
        stage.operators.insert(stage.operators.end(), units_.operators[unit].begin(),
                               units_.operators[unit].end());
      std::sort(stage.operators.begin(), stage.operators.end());
      for (int r = 0; r < width; ++r) stage.devices.emplace_back(device++);
    }
    schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan));
    return plan;
  }

  TwoBwStage described(const plan::Stage& stage, std::size_t& unit) const {
    const auto load = cost::stage_load(problem_, stage.operators);
    TwoBwStage out;
    for (std::size_t left = stage.operators.size(); left > 0; left -= units_.operators[unit++].size()) {
      out.forward += times_[unit].forward.value();
      out.backward += times_[unit].backward().value();
    }
    const auto all = [&](Bytes each) { return static_cast<double>((each * samples_).value()); };
    out.weights = static_cast<double>(load.parameters.value());
    out.activations = all(load.activations);
    out.inputs = all(load.inputs);
    out.outputs = all(load.outputs);
    return out;
  }

  void consider(plan::Plan plan, bool recompute, std::optional<TwoBuffered>& best) {
    ++shapes_;
    const std::size_t width = plan.stages.front().devices.size();
    std::vector<TwoBwStage> stages;
    std::size_t unit = 0;
    for (plan::Stage& stage : plan.stages) {
      if (recompute) stage.recompute = plan::kRecomputeStage;
      stages.push_back(described(stage, unit));
    }
    const TwoBwShape shape{
        static_cast<int>(width), turns_ / static_cast<std::int64_t>(width), recompute,
        slowest_route(problem_.cluster, 1, width) / problem_.training.sent_per_weight(),
        slowest_route(problem_.cluster, width, 0) / problem_.training.compression.activations};
    const double seconds = this->seconds(stages, shape) / static_cast<double>(samples_);
    if (best && best->seconds <= seconds) return;
    if (fits(plan, stages, shape)) best = TwoBuffered{std::move(plan), seconds, {}};
  }

  /// Seconds per micro-batch of all replicas together.
  double seconds(const std::vector<TwoBwStage>& stages, const TwoBwShape& shape) const {
    return dropped_ ? dropped_seconds(stages, shape.width) : two_bw_seconds(stages, shape) / shape.width;
  }

  double counted(const TwoBwStage& stage, const TwoBwShape& shape, int depth) const {
    return dropped_ ? dropped_two_bw_bytes(stage.weights / 4, stage.activations / 4, depth)
                    : two_bw_bytes(stage, shape, depth);
  }

  /// Bytes on each device: the larger of the formula's count and ours. Ours adds gradients, optimizer state
  /// and buffers, but uses the actual micro-batches of each stage.
  Bytes need(const plan::Stage& stage, const TwoBwStage& described, const TwoBwShape& shape,
             std::size_t depth) const {
    const Bytes formula(static_cast<std::int64_t>(counted(described, shape, static_cast<int>(depth))));
    const auto load = cost::stage_load(problem_, stage.operators);
    const auto ours =
        cost::stage_memory(load, problem_.memory, problem_.training, samples_, stage.in_flight / samples_,
                           stage.recompute ? std::optional<std::int64_t>(1) : std::nullopt);
    return std::max(formula, plan::total(ours) + load.parameters);
  }

  bool fits(const plan::Plan& plan, const std::vector<TwoBwStage>& stages, const TwoBwShape& shape) {
    bool all = true;
    Bytes most;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const Bytes bytes = need(plan.stages[s], stages[s], shape, stages.size());
      most = std::max(most, bytes);
      for (DeviceId d : plan.stages[s].devices) all = all && bytes <= problem_.cluster.type(d).memory;
    }
    least_need_ = std::min(least_need_, most);
    return all;
  }

  const cost::Problem& problem_;
  const UnitGraph& units_;
  std::int64_t samples_, turns_;
  bool dropped_;
  std::vector<cost::OpTime> times_;  ///< [unit]
  std::vector<double> work_;         ///< s [unit]
  std::uint64_t shapes_ = 0;
  Bytes least_need_{std::int64_t{1} << 62};
};

[[noreturn]] void explain(const cost::Problem& problem, Bytes least_need) {
  if (least_need == Bytes(std::int64_t{1} << 62))
    throw core::Infeasible(
        fmt::format("no width and depth use exactly {} devices with as many micro-batches per update as the "
                    "pipeline is deep",
                    problem.cluster.size()));
  throw core::Infeasible(
      fmt::format("no plan fits in memory: with two versions of the weights some device needs at least {}",
                  core::show(least_need)));
}

}  // namespace

const std::vector<PlannerOption>& pipedream_2bw_options() {
  static const std::vector<PlannerOption> options = {
      words("formula", {"paper", "dropped"},
            "cost and memory as in the paper, or as in the planner that the public code once had"),
  };
  return options;
}

// Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (PipeDream-2BW), ICML 2021, section 3.3
// and appendix A: all stages have equal width. The paper's models are equal blocks; here the row of operators
// is cut so that the slowest stage's compute is minimal, which is equal for equal blocks. Differs also: all
// devices are used; every micro-batch size is tried, not only the largest that fits; memory is counted as in
// Penstock.
SearchResult pipedream_2bw(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  if (options.per_stage_micro_batch)
    throw core::BadInput("pipedream_2bw: all stages have one micro-batch size");
  if (options.k != 1) throw core::BadInput("pipedream_2bw: k must be 1");
  const bool dropped =
      OwnValues("pipedream_2bw", pipedream_2bw_options(), options.own).word("formula") == "dropped";
  const auto sizes = replica_sizes(problem, options, "pipedream_2bw");
  const UnitGraph units = planning_units(problem.graph);
  const double samples = static_cast<double>(problem.training.mini_batch);
  std::vector<std::optional<TwoBuffered>> found(sizes.size());
  std::vector<std::uint64_t> states(sizes.size());
  std::vector<Bytes> least_need(sizes.size());
  SearchResult out;
  out.complete = until_limit(sizes.size(), [&](std::size_t i) {
    stop.check();
    TwoBufferedAtSize at_size(problem, units, sizes[i], dropped);
    found[i] = at_size.best(options.any_degree, stop);
    states[i] = at_size.states();
    least_need[i] = at_size.least_need();
    if (found[i])
      found[i]->verdict = judged(options, found[i]->plan, core::Seconds(found[i]->seconds * samples));
  });
  std::optional<TwoBuffered>* best = nullptr;
  for (auto& candidate : found) {
    out.complete = out.complete && !(candidate && candidate->verdict.late);
    if (candidate && (!best || candidate->verdict < (*best)->verdict)) best = &candidate;
  }
  if (!best && !out.complete) stop.give_up();
  if (!best) explain(problem, *std::min_element(least_need.begin(), least_need.end()));
  out.plan = std::move((*best)->plan);
  out.bottleneck = (*best)->seconds;
  out.estimate = core::Seconds(out.bottleneck * samples);
  for (std::uint64_t n : states) out.states += n;
  return out;
}

}  // namespace penstock::planners
