#pragma once
// What an operator takes at least, by how a plan divides the micro-batch and the operator.

#include <cstdint>
#include <span>
#include <vector>

#include "local_models.hpp"
#include "penstock/score/problem_bound.hpp"
#include "residency.hpp"
#include "way.hpp"

namespace penstock::score {

/// Seconds of all passes, and of the backward passes among them.
struct Work {
  double all, backward;
  friend bool operator==(const Work&, const Work&) = default;
};

/// Each number on its own the least over all divisions and device types.
struct LeastTimes {
  double forward, input_gradient, weight_gradient;  ///< s, of one pass of the largest part in a group
  double held_rate;                                 ///< s per sample, forward and input gradient of the whole
  double forward_rate,
      core_rate;  ///< s per sample, forward of the whole, and of attention's core; zero without one
  Work rate;      ///< s per sample, of the whole
  /// As `rate`, each device weighed by its type's share of the cluster's speed; of a group as long as its
  /// largest part takes, for all its devices go on together.
  Work work;
};

/// Of one share and size of groups, divided in one way: each number on its own the least over floor(b / r)
/// and ceil(b / r) samples and device types.
struct Divided {
  double forward, input_gradient, weight_gradient;  ///< s, of one pass of the largest part in a group
  Work work;                                        ///< as LeastTimes::work
  friend bool operator==(const Divided&, const Divided&) = default;
};

/// An operator divided in one way: what all devices together have to do, weighed, and what its steps down and
/// up take; s.
struct Division {
  Work work;
  double down, up;
};

/// Divisions of all plans of a family: a replica's share of a micro-batch, floor(b / r) or ceil(b / r)
/// samples, and the devices of its group, no more than D / r. Context groups, which divide tokens, and expert
/// groups compute a local model (LocalModel); of what is left to divide between g devices, by samples,
/// tokens, columns or rows, the largest part is 1/g or more. On more than 128 devices shares stand together
/// whose floor(b / r) lie between two powers of two, with groups of any size: parts are a D-th then, of as
/// much work as the whole.
class LeastTimesTable {
 public:
  /// Throws Infeasible naming an operator of which no share fits, and what `check` throws.
  LeastTimesTable(const cost::Problem& problem, PlanFamily family, const BoundCheck& check = {});

  /// Of the whole mini-batch's work, ascending, and these steps of one micro-batch; divisions that are worse
  /// in everything are left out.
  std::vector<Division> divisions(std::size_t op, const Steps& steps) const;
  /// Of the whole mini-batch's work, ascending by time, each with less work than those before. Numbers of
  /// samples and device types stand by themselves, for sums over samples: each sample has one of each.
  std::vector<Stay> stays(std::size_t op) const;
  /// Seconds on whichever device, weighed as `work` at least.
  double weighed(double seconds) const;
  /// Whether two operators take the same in every division.
  bool alike(std::size_t a, std::size_t b) const;
  const LeastTimes& over_all(std::size_t op) const { return over_all_[op]; }
  /// Updating so many bytes of weights: on the best device, and weighed as `work`.
  double update(core::Bytes weights) const;
  double update_work(core::Bytes weights) const;

 private:
  /// Shares that stand together; of one alone, groups of every size from 1 on.
  struct Row {
    std::size_t groups = 1, first = 0;  ///< the place of the smallest among all rows' groups
  };
  struct Share {
    std::int64_t least, most;  ///< floor(b / r), ceil(b / r)
    std::size_t row;
  };
  /// What is known of a division in one of its rows.
  struct Cell {
    std::size_t row;
    Divided divided;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  /// Of one number of samples and device type besides.
  struct RowStay {
    std::size_t row;
    double rate, time;  ///< s per sample, of the group as a whole; s, of a forward pass and input gradient
    friend bool operator==(const RowStay&, const RowStay&) = default;
  };
  void find_divisions();
  /// Of a device of such a group, with a D-th of the weights where the family divides them over D devices.
  cost::StageLoad least_load(core::OpId op, std::size_t group) const;
  void fill(std::size_t op);
  /// `by_way` of each division; `work` is that of the group as a whole, not weighed yet.
  void lower_to_share(std::size_t op, std::size_t type, const Share& share, std::size_t least_group,
                      std::vector<Divided>& by_way);
  void lower_to_group(std::span<Divided> by_way, core::OpId op, std::size_t type, std::int64_t samples,
                      std::size_t group, std::size_t row);
  /// Leaves those of each row that are shorter or less work than others.
  static void prune(std::vector<RowStay>& stays);
  void lower_to_whole(std::size_t op, std::size_t type, std::int64_t samples, Work& rate);
  bool fits(const cost::StageLoad& load, std::int64_t samples, core::Bytes memory) const;
  void weigh();
  void weigh(std::size_t op, double least_weight);
  const cluster::DeviceType& type(std::size_t t) const { return problem_.cluster.types()[types_[t]]; }
  Work& rate_on(std::size_t type, std::size_t op, std::size_t row) {
    return rates_[(op * rows_.size() + row) * types_.size() + type];
  }

  const cost::Problem& problem_;
  PlanFamily family_;
  BoundCheck check_;
  bool each_;                       ///< every share and every group by itself
  std::vector<std::size_t> types_;  ///< those in use, indices into Cluster::types()
  std::vector<double> weight_;      ///< [type in use] share of the cluster's speed of one such device
  std::vector<LocalModel> locals_;
  std::vector<Share> shares_;
  std::vector<Row> rows_;
  std::size_t groups_ = 0;                ///< of all rows
  std::size_t ways_;                      ///< of each, in every local model
  std::vector<std::vector<Cell>> cells_;  ///< [op] those that fit and are not worse than others in everything
  std::vector<std::vector<RowStay>> stays_;  ///< [op]
  std::vector<LeastTimes> over_all_;
  std::vector<Work> rates_;  ///< [op][row][type] s per sample of the whole
};

}  // namespace penstock::score
