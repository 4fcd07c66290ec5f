#include "local/alleviation.hpp"

#include <algorithm>
#include <set>

#include "graphpipe/assemble.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/order.hpp"

namespace penstock::planners {
namespace {

using plan::Plan;
using plan::Stage;

class AlleviationMoves {
 public:
  AlleviationMoves(const cost::Problem& problem, const SearchOptions& options, const UnitGraph& units,
                   const Plan& plan, std::size_t s, core::StopToken stop)
      : problem_(problem), options_(options), units_(units), plan_(plan), s_(s), stop_(stop) {}

  std::vector<Plan> all() {
    move_units();
    for (std::size_t t = 0; t < plan_.stages.size(); ++t) gain_replicas(t);
    if (!options_.micro_batch && !options_.pipeline_micro_batch) {
      resize([](std::int64_t size) { return size * 2; });
      resize([](std::int64_t size) { return size / 2; });
    }
    Plan switched = plan_;
    plan::Recomputation& recompute = switched.stages[s_].recompute;
    recompute = recompute ? plan::Recomputation() : plan::kRecomputeStage;
    keep(std::move(switched));
    return std::move(out_);
  }

 private:
  void keep(Plan plan) {
    stop_.check();
    for (Stage& stage : plan.stages) {
      if (options_.micro_batch && stage.micro_batch != *options_.micro_batch * stage.replicas()) return;
      stage.in_flight = 0;
    }
    if (!plan::structural_violations(problem_.graph, problem_.cluster, plan).empty()) return;
    score::derive_in_flight(problem_, plan);
    out_.push_back(std::move(plan));
  }

  /// Units of the stage in topological order.
  std::vector<std::size_t> held() const {
    const auto& operators = plan_.stages[s_].operators;
    std::vector<std::size_t> out;
    for (std::size_t u = 0; u < units_.operators.size(); ++u)
      if (std::binary_search(operators.begin(), operators.end(), units_.operators[u].back()))
        out.push_back(u);
    return out;
  }

  void move_units() {
    const auto units = held();
    for (std::size_t count = 1; count < units.size(); count *= 2) {
      const auto n = static_cast<std::ptrdiff_t>(count);
      for (std::size_t t : neighbours())
        move(t < s_ ? std::vector<std::size_t>(units.begin(), units.begin() + n)
                    : std::vector<std::size_t>(units.end() - n, units.end()),
             t);
    }
  }

  std::set<std::size_t> neighbours() const {
    const plan::StageGraph stages(problem_.graph, plan_);
    std::set<std::size_t> out;
    for (std::size_t b : stages.incoming(core::StageId(s_))) out.insert(stages.boundaries()[b].from.index());
    for (std::size_t b : stages.outgoing(core::StageId(s_))) out.insert(stages.boundaries()[b].to.index());
    return out;
  }

  void move(const std::vector<std::size_t>& units, std::size_t to) {
    Plan next = plan_;
    auto &from = next.stages[s_].operators, &goal = next.stages[to].operators;
    for (std::size_t u : units)
      for (core::OpId op : units_.operators[u]) {
        std::erase(from, op);
        goal.push_back(op);
      }
    std::sort(goal.begin(), goal.end());
    keep(std::move(next));
  }

  void gain_replicas(std::size_t t) {
    std::vector<int> replicas;
    for (const Stage& stage : plan_.stages) replicas.push_back(static_cast<int>(stage.devices.size()));
    if (replicas[t] <= replicas[s_]) return;
    if (options_.any_degree) {
      auto shifted = replicas;
      ++shifted[s_];
      --shifted[t];
      placed(shifted);
    }
    std::swap(replicas[s_], replicas[t]);
    placed(replicas);
  }

  void placed(const std::vector<int>& replicas) {
    Plan next = plan_;
    place(next, replicas);
    keep(std::move(next));
  }

  /// Resizes micro-batches of all stages, or of this one if sizes may differ.
  template <class F>
  void resize(F&& size) {
    Plan next = plan_;
    for (std::size_t t = 0; t < next.stages.size(); ++t)
      if (t == s_ || !options_.per_stage_micro_batch)
        next.stages[t].micro_batch = size(next.stages[t].micro_batch);
    keep(std::move(next));
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  const UnitGraph& units_;
  const Plan& plan_;
  std::size_t s_;
  core::StopToken stop_;
  std::vector<Plan> out_;
};

}  // namespace

std::vector<Plan> alleviations(const cost::Problem& problem, const SearchOptions& options,
                               const UnitGraph& units, const Plan& plan, std::size_t s,
                               core::StopToken stop) {
  return AlleviationMoves(problem, options, units, plan, s, stop).all();
}

}  // namespace penstock::planners
