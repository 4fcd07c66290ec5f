#pragma once
// Streams, with events as marks and captured graphs as bundles.

#include <optional>

#include "cuda/memory.hpp"
#include "cuda/queue.hpp"
#include "cuda/status.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::kernels::cuda {

class CudaStream : public Stream {
 public:
  explicit CudaStream(int device);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  std::unique_ptr<Mark> mark() override;
  void wait(const Mark& mark) override;
  /// Throws BadInput when an embedding met a row that its table does not have.
  void synchronise() override;
  void evict_caches() override;
  /// A graph, which may not outlive the stream. Run `body` once before: libraries prepare on their first
  /// call.
  std::function<void()> bundle(int copies, const std::function<void()>& body) override;

  const Queue& queue() const { return queue_; }
  int device() const { return device_; }

 private:
  int device_;
  Queue queue_;
  int* fault_ = nullptr;  ///< queue_.fault as the host sees it
  std::optional<Memory> sweep_;
};

/// The queue of a stream of `device`; throws an internal error for other streams.
const Queue& queue_of(Stream& stream, int device);

}  // namespace penstock::kernels::cuda
