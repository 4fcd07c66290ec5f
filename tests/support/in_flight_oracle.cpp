#include "support/in_flight_oracle.hpp"

#include <algorithm>
#include <limits>

#include "penstock/core/error.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

namespace penstock::support {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Simulates one pipeline many times.
class PipelineClock {
 public:
  explicit PipelineClock(const OraclePipeline& p)
      : plan_(p.plan),
        cluster_(tiny_cluster(p.plan.stages.size(), std::int64_t{1} << 40, 1e18)),
        costs_(p.seconds, scaled(p.seconds, p.backward)),
        problem_{p.graph, cluster_, costs_, p.plan.training} {}
  PipelineClock(const PipelineClock&) = delete;

  std::int64_t iteration(const Held& held) {
    for (std::size_t s = 0; s < held.size(); ++s) plan_.stages[s].in_flight = held[s];
    try {
      return sim::simulate_time(problem_, {problem_.graph, plan_}, {sim::NetworkModel::fifo}).value();
    } catch (const core::Error& e) {
      core::require(e.code() == core::ExitCode::invalid_plan, "only deadlocks are expected");
      return kNever;
    }
  }

 private:
  static std::vector<double> scaled(std::vector<double> times, double factor) {
    for (double& time : times) time *= factor;
    return times;
  }

  plan::Plan plan_;
  cluster::Cluster cluster_;
  FixedCosts costs_;
  cost::Problem problem_;
};

/// The next vector in the grid of multiples; false after the last.
bool advance(const plan::Plan& plan, Held& held) {
  for (std::size_t s = 0; s < held.size(); ++s) {
    held[s] += plan.stages[s].micro_batch;
    if (held[s] <= plan.training.mini_batch) return true;
    held[s] = plan.stages[s].micro_batch;
  }
  return false;
}

Held one_each(const plan::Plan& plan) {
  Held held;
  for (const auto& stage : plan.stages) held.push_back(stage.micro_batch);
  return held;
}

bool below(const Held& a, const Held& b) {
  return a != b && std::equal(a.begin(), a.end(), b.begin(), [](auto x, auto y) { return x <= y; });
}

/// Every vector that reaches the shortest iteration.
std::vector<Held> fastest(const OraclePipeline& p, PipelineClock& clock, std::int64_t& shortest) {
  std::vector<Held> out;
  shortest = kNever;
  Held held = one_each(p.plan);
  do {
    const std::int64_t time = clock.iteration(held);
    if (time < shortest) out.clear();
    shortest = std::min(shortest, time);
    if (time == shortest) out.push_back(held);
  } while (advance(p.plan, held));
  return out;
}

}  // namespace

OraclePipeline pipeline(const std::vector<std::pair<int, int>>& edges,
                        const std::vector<std::int64_t>& micro_batches, const std::vector<double>& seconds,
                        double backward, std::int64_t mini_batch) {
  OraclePipeline p{tiny_graph(micro_batches.size(), edges), seconds, backward, {}};
  p.plan.training.mini_batch = mini_batch;
  for (std::size_t s = 0; s < micro_batches.size(); ++s)
    p.plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, micro_batches[s], 1, 0, {}});
  return p;
}

std::int64_t iteration(const OraclePipeline& pipeline, const Held& held) {
  return PipelineClock(pipeline).iteration(held);
}

Held held_by_rule(const OraclePipeline& pipeline) {
  plan::Plan plan = pipeline.plan;
  schedule::derive_in_flight(plan, plan::StageGraph(pipeline.graph, plan));
  Held held;
  for (const auto& stage : plan.stages) held.push_back(stage.in_flight);
  return held;
}

InFlightTruth in_flight_truth(const OraclePipeline& pipeline) {
  PipelineClock clock(pipeline);
  InFlightTruth truth;
  const auto all = fastest(pipeline, clock, truth.shortest);
  truth.floor = all.front();
  for (const Held& held : all)
    for (std::size_t s = 0; s < held.size(); ++s) truth.floor[s] = std::min(truth.floor[s], held[s]);
  truth.rule = held_by_rule(pipeline);
  truth.ruled = clock.iteration(truth.rule);
  truth.unlimited = clock.iteration(Held(truth.rule.size(), pipeline.plan.training.mini_batch));
  truth.floor_holds = std::find(all.begin(), all.end(), truth.floor) != all.end();
  truth.rule_tight = truth.sufficient() && std::none_of(all.begin(), all.end(),
                                                        [&](const Held& h) { return below(h, truth.rule); });
  return truth;
}

}  // namespace penstock::support
