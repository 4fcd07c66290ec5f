#pragma once
// Samples of a mini-batch that each replica of a stage computes.

#include <cstdint>

#include "penstock/plan/plan.hpp"

namespace penstock::program {

/// Range of samples, numbered through all mini-batches of a program: mini-batch k starts at k *
/// Training::mini_batch.
struct SampleRange {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

/// Part of one micro-batch that one replica computes.
struct ReplicaShare {
  std::int32_t in_row = 0;  ///< micro-batch as counted by the rank's row: per replica if replicas take turns
  std::int32_t number = 0;  ///< micro-batch among all of the stage
  std::int32_t replica = 0;
  SampleRange samples;
};

/// How replicas share samples. They split every micro-batch nearly evenly, together with those of a colocated
/// stage's other parts. With an asynchronous schedule they take micro-batches in turn: replica r computes all
/// samples of micro-batches r, r + replicas, ...
struct SampleSharing {
  SampleSharing(const plan::Plan& plan, const plan::Stage& stage);

  std::int64_t micro_batch;  ///< samples
  std::int32_t replicas;
  std::int32_t group;   ///< devices per replica, which compute its share together
  std::int32_t before;  ///< replicas of the parts before this one, for a colocated stage
  std::int32_t of;      ///< replicas of all parts
  bool in_turn;

  /// First sample of a replica's share within a micro-batch.
  std::int64_t start(std::int64_t replica) const {
    return in_turn ? micro_batch * replica : micro_batch * (before + replica) / of;
  }
  std::int64_t size(std::int64_t replica) const { return start(replica + 1) - start(replica); }
  /// Samples from the row's n-th micro-batch to the next.
  std::int64_t round() const { return micro_batch * (in_turn ? replicas : 1); }
  ReplicaShare share(std::int64_t in_row, std::int64_t replica) const {
    return {static_cast<std::int32_t>(in_row),
            static_cast<std::int32_t>(in_turn ? in_row * replicas + replica : in_row),
            static_cast<std::int32_t>(replica),
            {in_row * round() + start(replica), size(replica)}};
  }
  /// Returns the n-th share in the order of samples.
  ReplicaShare share(std::int64_t n) const { return share(n / replicas, n % replicas); }
};

}  // namespace penstock::program
