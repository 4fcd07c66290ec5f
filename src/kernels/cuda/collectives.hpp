#pragma once
// Creates a backend's collectives.

#include <memory>
#include <vector>

#include "penstock/kernels/collectives.hpp"

namespace penstock::kernels::cuda {

/// NCCL's collectives. Null for fewer than two ranks, if a rank is not a whole GPU of its own, and in a build
/// without NCCL.
std::unique_ptr<Collectives> collectives_of(const std::vector<Backend*>& ranks, const Invitation& invitation);
/// Returns an empty invitation in a build without NCCL.
Invitation invitation_of_nccl();

}  // namespace penstock::kernels::cuda
