#pragma once
// An all-reduce as transfers between replicas.

#include <functional>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/sim/options.hpp"
#include "task_graph.hpp"

namespace penstock::sim {

/// The i-th of n parts of `bytes`, as equal as can be; the first ones are larger.
inline std::int64_t nearly_equal_part(std::int64_t bytes, std::int64_t n, std::int64_t i) {
  return bytes / n + (i < bytes % n ? 1 : 0);
}

/// One message of a collective, from one replica to another (indices into the group).
struct Message {
  std::size_t from = 0, to = 0;
  std::int64_t bytes = 0;
  std::vector<std::size_t>
      after;  ///< messages (indices) that must have arrived; the sender's own gradients besides
};

/// The messages of one all-reduce of `bytes`, each after those it waits for. Every replica has the result
/// when all messages to it have arrived; two of one sender to one receiver arrive in order. `closed_form` is
/// no message at all and not asked for here; `automatic` takes the smallest cost::all_reduce.
std::vector<Message> all_reduce_messages(Collective collective, const cluster::Cluster& cluster,
                                         const std::vector<core::DeviceId>& group, std::int64_t bytes);

/// The same where everybody has one part of `bytes` and all want the whole: around a ring.
std::vector<Message> all_gather_messages(std::size_t members, std::int64_t bytes);

}  // namespace penstock::sim
