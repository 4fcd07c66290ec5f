#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "baselines/stage_partitions.hpp"
#include "candidates.hpp"
#include "families.hpp"
#include "graphpipe/assemble.hpp"
#include "own_options.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"
#include "tensor/tensor_groups.hpp"

namespace penstock::planners {
namespace {

using plan::Plan;

[[noreturn]] void too_many_plans(const std::string& what) {
  throw core::Error(core::ExitCode::limit, "exhaustive tries every plan: " + what);
}

/// Replicas, devices per replica and micro-batch size of each stage.
struct PlanShape {
  std::vector<int> replicas, degrees;
  std::vector<std::int64_t> sizes;
};

/// Enumerates all shapes of `stages` stages that use every device and leave every replica a sample.
class ShapeEnumeration {
 public:
  ShapeEnumeration(const cost::Problem& problem, const SearchOptions& options, std::size_t stages,
                   std::size_t most_plans, core::StopToken stop)
      : options_(options),
        stop_(stop),
        stages_(stages),
        most_steps_(16 * most_plans),
        degrees_(tensor_degrees(problem.cluster, options)) {
    for (std::size_t r = 0; r <= problem.cluster.size(); ++r)
      sizes_.push_back(shared_sizes(problem, options, std::max(1, static_cast<int>(r))));
    choose_replicas(static_cast<int>(problem.cluster.size()));
  }
  std::vector<PlanShape> all;

 private:
  void count_step() {
    stop_.check();
    if (++steps_ > most_steps_) too_many_plans("the devices can be shared out in too many ways");
  }

  void choose_replicas(int left) {
    count_step();
    const std::size_t chosen = shape_.replicas.size();
    if (chosen == stages_) {
      if (left == 0) choose_sizes();
      return;
    }
    const int most = left - static_cast<int>(stages_ - chosen - 1);
    for (int t : degrees_)
      for (int r = chosen + 1 == stages_ ? std::max(1, left / t) : 1; r * t <= most; ++r) {
        if (!options_.any_degree && !std::has_single_bit(static_cast<unsigned>(r))) continue;
        shape_.replicas.push_back(r);
        shape_.degrees.push_back(t);
        choose_replicas(left - r * t);
        shape_.replicas.pop_back();
        shape_.degrees.pop_back();
      }
  }

  void choose_sizes() {
    count_step();
    const std::size_t chosen = shape_.sizes.size();
    if (chosen == stages_) return all.push_back(shape_);
    for (std::int64_t size : sizes_[static_cast<std::size_t>(shape_.replicas[chosen])]) {
      if (!options_.per_stage_micro_batch && chosen > 0 && size != shape_.sizes.front()) continue;
      shape_.sizes.push_back(size);
      choose_sizes();
      shape_.sizes.pop_back();
    }
  }

  const SearchOptions& options_;
  core::StopToken stop_;
  std::size_t stages_, most_steps_;
  std::vector<std::vector<std::int64_t>> sizes_;  ///< [replicas]
  std::vector<int> degrees_;
  PlanShape shape_;
  std::size_t steps_ = 0;
};

struct BestPlan {
  std::size_t tried = 0;
  double seconds = std::numeric_limits<double>::infinity();
  Plan plan;  ///< valid if seconds are finite
  core::Bytes least_need{std::numeric_limits<std::int64_t>::max()};
  Plan thriftiest;  ///< the plan with that need
};

class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), units_(planning_units(problem.graph)) {
    const OwnValues own("exhaustive", exhaustive_options(), options.own);
    const auto most_units = static_cast<std::size_t>(own.number("operators"));
    most_plans_ = static_cast<std::size_t>(own.number("plans"));
    if (options.k < 1) throw core::BadInput("k must be at least 1");
    if (units_.operators.size() > most_units)
      too_many_plans(fmt::format("{} operators are more than {}", units_.operators.size(), most_units));
    list();
  }

  SearchResult run() const {
    if (plans_ == 0)
      throw core::Infeasible(
          fmt::format("no plan uses exactly {} devices with micro-batches of the mini-batch {}",
                      problem_.cluster.size(), problem_.training.mini_batch));
    std::vector<BestPlan> found(partitions_.size());
    core::parallel_for(found.size(), [&](std::size_t i) { found[i] = best_of(partitions_[i]); });
    std::size_t tried = 0;
    for (const BestPlan& best : found) tried += best.tried;
    const auto best = std::min_element(found.begin(), found.end(), [](const BestPlan& a, const BestPlan& b) {
      return a.seconds < b.seconds;
    });
    if (best->seconds == std::numeric_limits<double>::infinity()) explain(found, tried == plans_);
    const double bottleneck = score::estimate(problem_, best->plan).bottleneck;
    return {std::move(best->plan), bottleneck, tried, {}, tried == plans_};
  }

 private:
  void list() {
    const std::size_t most = std::min(units_.operators.size(), problem_.cluster.size());
    for (std::size_t stages = 1; stages <= most; ++stages)
      shapes_.push_back(ShapeEnumeration(problem_, options_, stages, most_plans_, stop_).all);
    const auto visit = [&](const StagePartition& partition) {
      plans_ += shapes_[partition.size() - 1].size();
      if (plans_ > most_plans_) too_many_plans(fmt::format("there are more than {}", most_plans_));
      if (!shapes_[partition.size() - 1].empty()) partitions_.push_back(partition);
    };
    for_each_stage_partition(units_.dag, most, visit, stop_);
  }

  [[noreturn]] void explain(const std::vector<BestPlan>& found, bool complete) const {
    if (!complete) stop_.give_up();
    const auto thriftier = [](const BestPlan& a, const BestPlan& b) { return a.least_need < b.least_need; };
    fail_on(problem_, std::min_element(found.begin(), found.end(), thriftier)->thriftiest);
  }

  Plan made(const StagePartition& partition, const PlanShape& shape) const {
    Plan plan;
    plan.training = problem_.training;
    std::vector<int> devices;
    for (std::size_t s = 0; s < partition.size(); ++s) {
      plan::Stage& stage = plan.stages.emplace_back();
      for (std::size_t u = 0; u < units_.operators.size(); ++u)
        if (partition[s] >> u & 1)
          stage.operators.insert(stage.operators.end(), units_.operators[u].begin(),
                                 units_.operators[u].end());
      std::sort(stage.operators.begin(), stage.operators.end());
      stage.micro_batch = shape.sizes[s];
      stage.k = options_.k;
      stage.tensor_parallel = shape.degrees[s];
      devices.push_back(shape.replicas[s] * shape.degrees[s]);
    }
    place(plan, devices);
    unite_groups(problem_.cluster, plan);
    schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan));
    return plan;
  }

  BestPlan best_of(const StagePartition& partition) const {
    BestPlan best;
    for (const PlanShape& shape : shapes_[partition.size() - 1]) {
      if (stop_.limit_hit()) break;
      stop_.check();
      ++best.tried;
      Plan plan = made(partition, shape);
      const core::Bytes need = fullest_need(problem_, plan);
      if (need < best.least_need) {
        best.least_need = need;
        best.thriftiest = plan;
      }
      const double seconds = judged_seconds(problem_, options_, plan);
      if (seconds < best.seconds && score::violations(problem_, plan).empty()) {
        best.seconds = seconds;
        best.plan = std::move(plan);
      }
    }
    return best;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  UnitGraph units_;
  std::vector<std::vector<PlanShape>> shapes_;  ///< [stages - 1]
  std::vector<StagePartition> partitions_;      ///< partitions that suit some shape
  std::size_t plans_ = 0, most_plans_ = 0;
};

}  // namespace

const std::vector<PlannerOption>& exhaustive_options() {
  static const std::vector<PlannerOption> options = {
      number("operators", 12, 1, 20, "most operators that are looked at"),
      number("plans", std::int64_t{1} << 18, 1, std::int64_t{1} << 22, "most plans that are tried"),
      tensor_parallel_limit(),
  };
  return options;
}

// An addition of ours: minimises the iteration time, by options.evaluate or score::estimate, over all plans
// of a small space. It varies the partition into stages that wait only for the data they read, and every
// replica count (powers of two without any_degree). It also varies tensor-parallel degree (powers of two,
// operators divided by the rule of layout/infer.hpp) and micro-batch size (one for all stages, or one each).
// Under the estimate, on devices of one type, the result is the best 1f1b plan without recomputation and with
// separate devices per stage. An order imposed beyond the data could only add to paths and samples in flight.
SearchResult exhaustive(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  const SearchOptions within = limited(options, OwnValues("exhaustive", exhaustive_options(), options.own));
  return ExhaustiveSearch(problem, within, stop).run();
}

}  // namespace penstock::planners
