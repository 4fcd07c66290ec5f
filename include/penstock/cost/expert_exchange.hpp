#pragma once
// What expert parallelism makes passes wait for: rows on their way to their experts and back.

#include "penstock/cost/communication.hpp"
#include "penstock/layout/experts.hpp"

namespace penstock::cost {

/// Two all-to-alls among the devices of each expert group in a forward pass, dispatch and combine, and two of
/// their gradients in a backward pass. The fullest device has `imbalance` times as many rows sent as the
/// mean. Groups exchange at the same time and share links; within a node measured times count where the
/// cluster has some. Differs: all devices begin together, and every member of a tensor-parallel group
/// exchanges all rows, as its part of every expert needs all of them.
class ExpertExchange {
 public:
  ExpertExchange(const cluster::Cluster& cluster, const plan::Stage& stage);
  /// `rows` of one device, of all its samples: layout::copied_rows. No less than twice `launch`, that of the
  /// host.
  core::Seconds time(core::Bytes rows, core::Seconds launch) const;

 private:
  double imbalance_;
  std::int64_t size_;
  Measured measured_;
  Affine groups_;
};

}  // namespace penstock::cost
