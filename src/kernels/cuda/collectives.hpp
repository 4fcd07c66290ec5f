#pragma once
// What a backend's collectives are made by.

#include <memory>
#include <vector>

#include "penstock/kernels/collectives.hpp"

namespace penstock::kernels::cuda {

/// NCCL's. Null for fewer than two ranks, where one is no whole GPU of its own, and in a build without it.
std::unique_ptr<Collectives> collectives_of(const std::vector<Backend*>& ranks, const Invitation& invitation);
/// Empty in a build without it.
Invitation invitation_of_nccl();

}  // namespace penstock::kernels::cuda
