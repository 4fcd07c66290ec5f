#pragma once
// Device memory that a framework takes in addition to the plan: CUDA's context, NCCL's buffers,
// fragmentation.

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

/// Reserves of megatron and deepspeed. The first is the default if no framework is named.
const std::vector<NamedReserve>& reserves();

/// Reserve of a framework; the first of reserves() for other names.
core::Bytes reserve_of(std::string_view framework);

/// Parses a size such as "2.5GiB" or "0", or the name of a framework. Throws BadInput.
core::Bytes reserve(std::string_view text);

/// True if plans on this cluster leave the usual reserve free by default. This holds if all devices are GPUs
/// (several multiprocessors) with at least four times that memory, and no device states its own reserve.
bool takes_usual_reserve(const Cluster& cluster);

}  // namespace penstock::cluster
