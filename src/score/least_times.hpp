#pragma once
// Minimum times of operators, by how a plan divides the micro-batch and the operator.

#include <cstdint>
#include <span>
#include <vector>

#include "local_models.hpp"
#include "penstock/score/problem_bound.hpp"
#include "residency.hpp"
#include "way.hpp"

namespace penstock::score {

/// Seconds of all passes, and of the backward passes included in them.
struct Work {
  double all, backward;
  friend bool operator==(const Work&, const Work&) = default;
};

/// Minimum times of one operator; each number separately is the minimum over all divisions and device types.
struct LeastTimes {
  double forward, input_gradient, weight_gradient;  ///< s, of one pass of the largest part in a group
  double held_rate;  ///< s per sample, forward and input gradient of the whole operator
  double forward_rate,
      core_rate;  ///< s per sample, forward of the whole, and of attention's core; zero without one
  Work rate;      ///< s per sample of the whole operator
  /// Like `rate`, with each device weighted by its type's share of the cluster's speed. A group counts for as
  /// long as its largest part takes, because its devices proceed together.
  Work work;
};

/// Times for one share and group size, divided in one way. Each number separately is the minimum over floor(b
/// / r) and ceil(b / r) samples and device types.
struct DividedTimes {
  double forward, input_gradient, weight_gradient;  ///< s, of one pass of the largest part in a group
  Work work;                                        ///< like LeastTimes::work
  friend bool operator==(const DividedTimes&, const DividedTimes&) = default;
};

/// An operator divided in one way: weighted work of all devices together, and times of its steps down and up,
/// in seconds.
struct Division {
  Work work;
  double down, up;
};

/// Divisions of all plans of a family. A replica's share of a micro-batch is floor(b / r) or ceil(b / r)
/// samples, and its group has at most D / r devices. Context groups, which divide tokens, and expert groups
/// compute a local model (LocalModel). The rest is divided between g devices by samples, tokens, columns or
/// rows, so that the largest part is at least 1/g. On more than 128 devices, shares with floor(b / r) between
/// two powers of two form one row with groups of any size. Parts are then 1/D, with as much work as the
/// whole.
class LeastTimesTable {
 public:
  /// Throws Infeasible naming an operator of which no share fits; passes on exceptions of `check`.
  LeastTimesTable(const cost::Problem& problem, PlanFamily family, const BoundCheck& check = {});

  /// Divisions, ascending by the work of the whole mini-batch, with times for these steps of one micro-batch.
  /// Dominated divisions are left out.
  std::vector<Division> divisions(std::size_t op, const Steps& steps) const;
  /// Divisions for the whole mini-batch, ascending by time, each with less work than those before. Numbers of
  /// samples and device types count separately, for sums over samples: each sample has one of each.
  std::vector<Stay> stays(std::size_t op) const;
  /// Seconds on any device, weighted like `work`; a minimum.
  double weighed(double seconds) const;
  /// True if two operators have equal times in every division.
  bool alike(std::size_t a, std::size_t b) const;
  const LeastTimes& over_all(std::size_t op) const { return over_all_[kind_[op]]; }
  /// Seconds to update these bytes of weights: on the best device; weighted like `work`.
  double update(core::Bytes weights) const;
  double update_work(core::Bytes weights) const;

 private:
  /// Shares that are treated as one; for a single share, groups of every size from 1 on.
  struct Row {
    std::size_t groups = 1, first = 0;  ///< index of the smallest group among the groups of all rows
  };
  struct Share {
    std::int64_t least, most;  ///< floor(b / r), ceil(b / r)
    std::size_t row;
  };
  /// Times of a division in one of its rows.
  struct Cell {
    std::size_t row;
    DividedTimes divided;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  /// Time and rate for one number of samples and device type.
  struct RowStay {
    std::size_t row;
    double rate, time;  ///< s per sample, of the whole group; s, of a forward pass and input gradient
    friend bool operator==(const RowStay&, const RowStay&) = default;
  };
  void find_divisions();
  void find_kinds();
  /// Minimum load of a device in a group of this size, with 1/D of the weights if the family divides them
  /// over D devices.
  cost::StageLoad least_load(core::OpId op, std::size_t group) const;
  void fill(std::size_t kind);
  /// `by_way` of each division; `work` is that of the whole group, not yet weighted.
  void lower_to_share(std::size_t kind, std::size_t type, const Share& share, std::size_t least_group,
                      std::vector<DividedTimes>& by_way);
  void lower_to_group(std::span<DividedTimes> by_way, std::size_t kind, std::size_t type,
                      std::int64_t samples, std::size_t group, std::size_t row);
  /// Keeps those of each row that are shorter or less work than others.
  static void prune(std::vector<RowStay>& stays);
  void lower_to_whole(std::size_t kind, std::size_t type, std::int64_t samples, Work& rate);
  bool fits(const cost::StageLoad& load, std::int64_t samples, core::Bytes memory) const;
  void weigh();
  std::size_t first_equal(std::size_t kind) const;
  std::vector<DividedTimes> best_cells(std::size_t kind) const;
  void weigh(std::size_t kind, double least_weight);
  const cluster::DeviceType& type(std::size_t t) const { return problem_.cluster.types()[types_[t]]; }
  cost::Problem local_problem(const LocalModel& model) const {
    return {model.graph, problem_.cluster, problem_.costs, problem_.training, problem_.memory};
  }
  Work& rate_on(std::size_t type, std::size_t kind, std::size_t row) {
    return rates_[(kind * rows_.size() + row) * types_.size() + type];
  }

  const cost::Problem& problem_;
  PlanFamily family_;
  BoundCheck check_;
  bool each_;                       ///< true: every share and every group counts separately
  std::vector<std::size_t> types_;  ///< types in use, as indices into Cluster::types()
  std::vector<double> weight_;      ///< [type in use] share of one device in the cluster's speed
  std::vector<LocalModel> locals_;
  std::vector<Share> shares_;
  std::vector<Row> rows_;
  std::size_t groups_ = 0;                       ///< groups of all rows
  std::size_t ways_;                             ///< ways of each group, in every local model
  std::vector<std::size_t> kind_;                ///< [op] index of its set of operators with equal costs
  std::vector<core::OpId> firsts_;               ///< [kind] its first operator
  std::vector<std::vector<Cell>> cells_;         ///< [kind] divisions that fit and are not dominated
  std::vector<std::vector<RowStay>> stays_;      ///< [kind]
  std::vector<LeastTimes> over_all_;             ///< [kind]
  std::vector<std::size_t> equals_;              ///< [kind] the first kind with equal times
  std::vector<std::vector<DividedTimes>> best_;  ///< [kind] those of `cells_` that no other one beats
  std::vector<Work> rates_;                      ///< [kind][row][type] s per sample of the whole
};

}  // namespace penstock::score
