#pragma once
// Private to the room: times of what ZeRO sends in every micro-batch.

#include <map>
#include <span>
#include <vector>

#include "penstock/cost/sharding.hpp"
#include "zero_overlap.hpp"

namespace penstock::cost {

/// Times of the collectives of ZeRO, all groups at once, of one set of operators after the other. The
/// arguments must outlive it.
class SentByZero {
 public:
  /// `local`: the stage's LocalProblem, whose experts are those of one device.
  SentByZero(const Problem& whole, const Problem& local, const plan::Stage& stage);
  /// Nothing where replicas keep all of their gradients.
  ReplicaTraffic of(std::span<const core::OpId> operators, const std::map<core::OpId, plan::Partition>& how,
                    const RecomputedOps& again);

 private:
  core::Seconds time(layout::GroupScope among, core::Bytes bytes);

  const Problem &whole_, &local_;
  const plan::Stage& stage_;
  bool shards_;
  std::size_t layers_ = 0;
  std::vector<core::OpId> in_layers_;
  std::map<layout::GroupScope, AllReduce> gathering_;
};

}  // namespace penstock::cost
