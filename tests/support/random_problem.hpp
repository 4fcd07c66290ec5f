#pragma once
// Small planning problems by seed, on which a planner and exhaustive search can be compared.

#include "penstock/cost/problem.hpp"
#include "support/tiny.hpp"

namespace penstock::support {

/// A fixed time per pass and a time per sample, per operator: small batches are less efficient.
class LaunchCosts final : public cost::CostModel {
 public:
  struct PassTime {
    double launch = 0;      ///< s
    double per_sample = 0;  ///< s
  };
  /// A backward pass takes twice the time of a forward pass.
  explicit LaunchCosts(std::vector<PassTime> forward) : forward_(std::move(forward)) {}
  cost::OpTime op_time(const graph::OpGraph&, core::OpId op, const cluster::DeviceType&,
                       std::int64_t samples) const override {
    const PassTime& pass = forward_[op.index()];
    const core::Seconds time(pass.launch + pass.per_sample * static_cast<double>(samples));
    return {time, time, time};
  }

 private:
  std::vector<PassTime> forward_;
};

struct RandomProblem {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  LaunchCosts costs;
  plan::Training training;
  cost::Problem problem() const { return {graph, cluster, costs, training}; }
};

/// Two to eight operators in a random series-parallel order, one to five devices, mini-batches of 4 to 16
/// samples, buckets of 400 to 1200 B or none. Some sources are inputs. Memory is ample for a third of the
/// seeds, and else may or may not suffice.
RandomProblem random_problem(std::uint64_t seed);

}  // namespace penstock::support
