#pragma once
// Streams, with CUDA events and, as bundles, CUDA graphs.

#include <optional>

#include "cuda/memory.hpp"
#include "cuda/place.hpp"
#include "cuda/queue.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::kernels::cuda {

class CudaStream : public Stream {
 public:
  explicit CudaStream(std::shared_ptr<const DevicePlace> place);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  std::unique_ptr<Event> record_event() override;
  void wait(const Event& event) override;
  /// Throws BadInput if an embedding met a row that its table does not have.
  void synchronise() override;
  void evict_caches() override;
  /// A graph, which must not outlive the stream. Run `body` once before: libraries allocate on their first
  /// call.
  std::function<void()> bundle(int copies, const std::function<void()>& body) override;

  const LaunchQueue& queue() const { return queue_; }
  const DevicePlace& place() const { return *place_; }

 private:
  void select_device() const { select(place_->device()); }

  std::shared_ptr<const DevicePlace> place_;
  LaunchQueue queue_;
  int* fault_ = nullptr;  ///< queue_.fault on the host side
  std::optional<DeviceMemory> sweep_;
};

/// Queue of a stream of `place`; throws an internal error for other streams.
const LaunchQueue& queue_of(Stream& stream, const DevicePlace& place);

}  // namespace penstock::kernels::cuda
