#include "support/exhaustive.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>

#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::support {
namespace {

using core::DeviceId;
using core::StageId;
using plan::Plan;
using Replicas = std::vector<int>;

class SpaceSearch {
 public:
  SpaceSearch(const cost::Problem& problem, const PlanningUnits& units, const ExhaustiveOptions& options)
      : problem_(problem),
        units_(units),
        options_(options),
        network_(score::assume_network(problem.cluster, problem.training)) {}

  BestBySize run(const Partitions& partitions) {
    BestBySize best;
    const std::int64_t mini_batch = problem_.training.mini_batch;
    for (std::int64_t b = 1; b <= mini_batch; b *= 2)
      if (mini_batch % b == 0) best[b] = run(partitions, b);
    return best;
  }

 private:
  std::optional<LeastBottleneck> run(const Partitions& partitions, std::int64_t micro_batch) {
    std::optional<LeastBottleneck> best;
    for (const Partition& partition : partitions)
      if (partition.size() <= problem_.cluster.size()) try_partition(partition, micro_batch, best);
    return best;
  }

  void try_partition(const Partition& partition, std::int64_t micro_batch,
                     std::optional<LeastBottleneck>& best) {
    std::optional<Plan>
        plan;  // made for the first promising replica counts, its in-flight counts hold for all
    for_each_replicas(partition.size(), micro_batch, [&](const Replicas& replicas) {
      const double bottleneck = slowest(partition, replicas, micro_batch);
      if (best && best->bottleneck <= bottleneck) return;
      if (!plan) plan = scheduled(partition, micro_batch);
      place(*plan, replicas);
      if (fits(*plan)) best = LeastBottleneck{bottleneck, *plan};
    });
  }

  void for_each_replicas(std::size_t stages, std::int64_t micro_batch,
                         const std::function<void(const Replicas&)>& visit) const {
    Replicas chosen;
    const std::function<void(int)> choose = [&](int left) {
      if (chosen.size() == stages) {
        if (left == 0) visit(chosen);
        return;
      }
      for (int r = 1; r <= left && r <= micro_batch; ++r) {
        if (!options_.any_degree && !std::has_single_bit(static_cast<unsigned>(r))) continue;
        chosen.push_back(r);
        choose(left - r);
        chosen.pop_back();
      }
    };
    choose(static_cast<int>(problem_.cluster.size()));
  }

  double slowest(const Partition& partition, const Replicas& replicas, std::int64_t micro_batch) {
    double slowest = 0;
    for (std::size_t s = 0; s < partition.size(); ++s)
      slowest = std::max(slowest, time_per_sample(partition[s], replicas[s], micro_batch));
    return slowest;
  }

  double time_per_sample(UnitSet stage, int replicas, std::int64_t micro_batch) {
    const auto [entry, fresh] = times_.try_emplace({stage, replicas, micro_batch});
    if (!fresh) return entry->second;
    const auto operators = operators_of(stage);
    const auto compute = cost::compute_time(problem_, operators, problem_.cluster.type(DeviceId(0)),
                                            cost::samples_per_device(micro_batch, replicas));
    const auto terms = score::stage_terms(network_, cost::stage_load(problem_, operators), compute.total(),
                                          micro_batch, replicas, problem_.training.mini_batch);
    const double sum = terms.compute + terms.communication + terms.reduce;
    return entry->second = options_.added ? sum : terms.time_per_sample();
  }

  std::vector<core::OpId> operators_of(UnitSet stage) const {
    std::vector<core::OpId> out;
    for (std::size_t u = 0; u < units_.operators.size(); ++u)
      if (stage >> u & 1) out.insert(out.end(), units_.operators[u].begin(), units_.operators[u].end());
    std::sort(out.begin(), out.end());
    return out;
  }

  Plan scheduled(const Partition& partition, std::int64_t micro_batch) const {
    Plan plan;
    plan.training = problem_.training;
    for (std::size_t s = 0; s < partition.size(); ++s) {
      plan.stages.push_back({operators_of(partition[s]), {}, micro_batch, 1, 0, {}});
      if (options_.forced_row && s > 0) plan.stages.back().after = {StageId(s - 1)};
    }
    schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan));
    return plan;
  }

  static void place(Plan& plan, const Replicas& replicas) {
    std::size_t next = 0;
    for (std::size_t s = 0; s < replicas.size(); ++s) {
      plan.stages[s].devices.clear();
      for (int r = 0; r < replicas[s]; ++r) plan.stages[s].devices.emplace_back(next++);
    }
  }

  bool fits(const Plan& plan) const {
    for (const plan::MemoryByKind& memory : score::stage_memories(problem_, plan))
      if (plan::total(memory) > problem_.cluster.type(DeviceId(0)).memory) return false;
    return true;
  }

  const cost::Problem& problem_;
  const PlanningUnits& units_;
  ExhaustiveOptions options_;
  score::AssumedNetwork network_;
  std::map<std::tuple<UnitSet, int, std::int64_t>, double> times_;
};

}  // namespace

BestBySize exhaustive(const cost::Problem& problem, const PlanningUnits& units, const Partitions& partitions,
                      const ExhaustiveOptions& options) {
  return SpaceSearch(problem, units, options).run(partitions);
}

BestBySize own_space(const cost::Problem& problem, const ExhaustiveOptions& options) {
  const auto units = planning_units(problem.graph);
  return exhaustive(problem, units, series_parallel_partitions(units.dag, options.rejoined), options);
}

BestBySize row_space(const cost::Problem& problem, ExhaustiveOptions options) {
  options.forced_row = true;
  const auto units = planning_units(problem.graph);
  return exhaustive(problem, units, row_partitions(units.operators.size()), options);
}

BestBySize all_valid(const cost::Problem& problem) {
  const auto units = planning_units(problem.graph);
  return exhaustive(problem, units, all_partitions(units.dag));
}

}  // namespace penstock::support
