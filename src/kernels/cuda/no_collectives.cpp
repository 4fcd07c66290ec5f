// Stands in for the collectives in a build without NCCL.

#include "cuda/collectives.hpp"

namespace penstock::kernels::cuda {

std::unique_ptr<Collectives> collectives_of(const std::vector<Backend*>&) {
  return nullptr;
}

}  // namespace penstock::kernels::cuda
