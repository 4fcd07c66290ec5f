#pragma once
// Device memory that a framework takes besides the plan: CUDA's context, NCCL's buffers, fragmentation.

#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::cluster {

class Cluster;

struct NamedReserve {
  std::string name;
  core::Bytes bytes;
  std::string source;
};

/// megatron, deepspeed. The first one is used where no framework is named.
const std::vector<NamedReserve>& reserves();

/// Bytes as "2.5GiB", 0, or those of a framework by its name. Throws BadInput.
core::Bytes reserve(std::string_view text);

/// Whether plans on the cluster leave the usual reserve free unless told otherwise: all devices are GPUs
/// (have several multiprocessors) of at least four times that memory, and none states a reserve of its own.
bool takes_usual_reserve(const Cluster& cluster);

}  // namespace penstock::cluster
