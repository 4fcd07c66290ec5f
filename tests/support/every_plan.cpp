#include "support/every_plan.hpp"

#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/validate.hpp"
#include "support/partitions.hpp"

namespace penstock::support {
namespace {

class PlanEnumeration {
 public:
  PlanEnumeration(const cost::Problem& problem, const std::function<void(const plan::Plan&)>& visit,
                  const std::vector<StageDivision>& divisions)
      : problem_(problem), visit_(visit), divisions_(divisions) {}

  void of(const Partition& partition) {
    const std::int64_t mini_batch = problem_.training.mini_batch;
    for (std::int64_t b = 1; b <= mini_batch; ++b)
      if (mini_batch % b == 0) {
        plan_ = cut(partition, b);
        place(0, 0);
      }
  }

 private:
  plan::Plan cut(const Partition& partition, std::int64_t micro_batch) const {
    plan::Plan plan;
    plan.training = problem_.training;
    for (UnitSet set : partition) {
      plan.stages.emplace_back();
      plan.stages.back().micro_batch = micro_batch;
      for (std::size_t op = 0; op < problem_.graph.size(); ++op)
        if (set >> op & 1) plan.stages.back().operators.emplace_back(op);
    }
    schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan));
    return plan;
  }

  /// Gives stage s and those behind it the devices from `next` on, in every way.
  void place(std::size_t s, std::size_t next) {
    const std::size_t left = problem_.cluster.size() - next;
    if (s == plan_.stages.size()) {
      if (left == 0 && fits()) visit_(plan_);
      return;
    }
    plan::Stage& stage = plan_.stages[s];
    stage.devices.clear();
    for (std::size_t n = 1; n <= left; ++n) {
      stage.devices.emplace_back(next + n - 1);
      for (const StageDivision& division : divisions_) {
        stage.tensor_parallel = division.tensor_parallel, stage.zero = division.zero;
        stage.recompute = division.recompute;
        if (makes_sense(stage)) place(s + 1, next + n);
      }
    }
    stage.devices.clear();
  }
  /// Whole groups, a sample for each at least; a lone replica shares nothing.
  static bool makes_sense(const plan::Stage& stage) {
    const bool whole = stage.devices.size() % static_cast<std::size_t>(stage.tensor_parallel) == 0;
    return whole && stage.replicas() <= stage.micro_batch && (stage.zero == 0 || stage.replicas() > 1);
  }

  bool fits() const {
    const auto memories = score::stage_memories(problem_, plan_);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      for (core::DeviceId d : plan_.stages[s].devices)
        if (plan::total(memories[s]) > problem_.cluster.type(d).memory) return false;
    return true;
  }

  const cost::Problem& problem_;
  const std::function<void(const plan::Plan&)>& visit_;
  const std::vector<StageDivision>& divisions_;
  plan::Plan plan_;
};

}  // namespace

void for_each_plan(const cost::Problem& problem, const std::function<void(const plan::Plan&)>& visit,
                   const std::vector<StageDivision>& divisions) {
  PlanEnumeration plans(problem, visit, divisions);
  for (const Partition& partition : all_partitions(problem.graph.dag()))
    if (partition.size() <= problem.cluster.size()) plans.of(partition);
}

}  // namespace penstock::support
