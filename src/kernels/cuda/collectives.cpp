#include "cuda/collectives.hpp"

#include <set>

#include "cuda/nccl.hpp"
#include "cuda/stream.hpp"

namespace penstock::kernels::cuda {
namespace {

cudaStream_t queue(int device, Stream& stream) {
  select(device);
  const auto* known = dynamic_cast<const CudaStream*>(&stream);
  core::require(known != nullptr && known->place().device() == device,
                "a collective runs on streams of its devices");
  return known->queue().stream;
}

}  // namespace

/// NCCL needs one GPU per rank: it treats partitions of a GPU as the same.
std::unique_ptr<Collectives> collectives_of(const std::vector<Backend*>& ranks,
                                            const Invitation& invitation) {
  std::vector<std::optional<int>> devices;
  std::set<std::string> places;
  for (const Backend* backend : ranks) {
    if (backend == nullptr) {  // belongs to another process
      devices.emplace_back();
      continue;
    }
    if (!backend->name().starts_with("cuda:")) return nullptr;
    const CudaName name = cuda_name(backend->name());
    if (name.partitions > 0 || !places.insert(backend->place()).second) return nullptr;
    devices.push_back(name.device);
  }
  return devices.size() < 2 ? nullptr : make_collectives(devices, invitation, select, queue);
}

Invitation invitation_of_nccl() {
  return make_invitation();
}

}  // namespace penstock::kernels::cuda
