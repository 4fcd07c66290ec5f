#pragma once
// Collectives of a stage's weights and gradients, once per mini-batch, by the names that frameworks give them.

#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// One collective, in all of `groups` at once. `reductions` has its time: with ZeRO 1 that of a reduce-scatter
/// and an all-gather together.
struct WeightExchange {
  enum class ExchangeKind : std::uint8_t {
    all_reduce,      ///< of `bytes` of gradients
    reduce_scatter,  ///< of `bytes` of gradients on every device
    all_gather,      ///< of weights, `bytes` with all parts
  };
  ExchangeKind kind;
  DeviceGroups groups;
  core::Bytes bytes;    ///< on one device, the one of its group that holds most; as sent (Compression)
  bool within = false;  ///< among the devices of a tensor-parallel group, not among replicas
};

/// Exchanges by set of operators (one per bucket), in this order. Weights are gathered after the last one.
/// What ZeRO 2 and 3 send within passes is left out (pass_pieces.hpp).
std::vector<WeightExchange> weight_exchanges(const Problem& problem, const plan::Stage& stage,
                                             const OperatorSets& sets);

}  // namespace penstock::cost
