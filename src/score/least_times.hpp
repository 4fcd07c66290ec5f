#pragma once
// What an operator takes at least, by the size of the share that a replica computes at once.

#include <cstdint>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/score/problem_bound.hpp"

namespace penstock::score {

/// Each number on its own the least over some shares and device types; infinite where none fits in memory.
struct LeastTimes {
  double forward, input_gradient, weight_gradient;  ///< s, of one pass of the smallest part a device may have
  double held_rate;                                 ///< s per sample, forward and input gradient of the whole
  double rate;                                      ///< s per sample, all passes of the whole
  double work;  ///< as `rate`, each device type weighed by its share of the cluster's speed
};

/// Shares of all plans of a family, in classes: those whose smaller half (floor(b / r)) lies between two
/// powers of two. Shares of groups divide further, but a group's batch divided by samples is one of the
/// shares again: t parts of floor(b / r) or ceil(b / r) are floor(b / rt) or ceil(b / rt), or a single
/// sample.
class LeastTimesTable {
 public:
  /// Throws Infeasible naming an operator of which no share fits.
  LeastTimesTable(const cost::Problem& problem, PlanFamily family);

  std::size_t classes() const { return classes_; }
  const LeastTimes& of(std::size_t op, std::size_t share_class) const {
    return cells_[op * classes_ + share_class];
  }
  const LeastTimes& over_all(std::size_t op) const { return over_all_[op]; }
  /// Updating so many bytes of weights: on the best device, and weighed as `work`.
  double update(core::Bytes weights) const;
  double update_work(core::Bytes weights) const;

 private:
  struct Share {
    std::int64_t least, most;  ///< floor(b / r), ceil(b / r)
  };
  static std::vector<Share> shares(std::int64_t mini_batch, std::int64_t devices);
  /// With a D-th of what the family divides over D devices.
  cost::StageLoad least_load(core::OpId op) const;
  /// Times of the smallest part, divided in whichever way is the fastest.
  void lower_to_part(LeastTimes& cell, core::OpId op, const cluster::DeviceType& type,
                     std::int64_t samples) const;
  /// The model with a mixture's experts divided over as many devices as divide them; empty where an operator
  /// is none, and in families that do not divide.
  std::vector<graph::OpGraph> divided_experts(core::OpId op) const;
  /// Times of a device that has a part of the experts, and as many rows as if it had all.
  void lower_to_experts(std::size_t op, std::size_t type, const Share& share,
                        const std::vector<graph::OpGraph>& divided_experts);
  void fill(std::size_t op, const std::vector<Share>& shares);
  bool fits(const cost::StageLoad& load, std::int64_t samples, core::Bytes memory) const;
  void weigh();
  double& rate_on(std::size_t type, std::size_t op, std::size_t share_class) {
    return rates_[(op * classes_ + share_class) * types_.size() + type];
  }

  const cost::Problem& problem_;
  PlanFamily family_;
  std::vector<std::size_t> types_;  ///< those in use, indices into Cluster::types()
  std::vector<double> weight_;      ///< [type in use] share of the cluster's speed of one such device
  std::size_t classes_ = 0;
  std::vector<LeastTimes> cells_;
  std::vector<LeastTimes> over_all_;
  std::vector<double> rates_;
};

}  // namespace penstock::score
