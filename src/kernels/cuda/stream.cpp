#include "cuda/stream.hpp"

namespace penstock::kernels::cuda {
namespace {

class CudaEvent : public Event {
 public:
  explicit CudaEvent(cudaStream_t stream) {
    check(cudaEventCreate(&event_), "cudaEventCreate");
    if (const cudaError_t status = cudaEventRecord(event_, stream); status != cudaSuccess) {
      cudaEventDestroy(event_);
      check(status, "cudaEventRecord");
    }
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  core::Seconds since(const Event& earlier) const override;
  bool reached() const override;
  cudaEvent_t event() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

const CudaEvent& of_cuda(const Event& event) {
  const auto* known = dynamic_cast<const CudaEvent*>(&event);
  core::require(known != nullptr, "events come from one backend");
  return *known;
}

core::Seconds CudaEvent::since(const Event& earlier) const {
  const cudaEvent_t begin = of_cuda(earlier).event();
  check(cudaEventSynchronize(begin), "cudaEventSynchronize");
  check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, event_), "cudaEventElapsedTime");
  return core::Seconds(milliseconds * 1e-3);
}

bool CudaEvent::reached() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status != cudaErrorNotReady) check(status, "cudaEventQuery");
  return status == cudaSuccess;
}

/// Records the work that `body` puts on the stream instead of running it. The caller owns the graph.
cudaGraph_t capture(cudaStream_t stream, int copies, const std::function<void()>& body) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    for (int i = 0; i < copies; ++i) body();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return graph;
}

}  // namespace

CudaStream::CudaStream(std::shared_ptr<const DevicePlace> place) : place_(std::move(place)) {
  select_device();
  check(cudaHostAlloc(reinterpret_cast<void**>(&fault_), sizeof(int), cudaHostAllocMapped), "cudaHostAlloc");
  *fault_ = 0;
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&queue_.fault), fault_, 0),
        "cudaHostGetDevicePointer");
  queue_.stream = place_->make_stream();
}

CudaStream::~CudaStream() {
  cudaStreamSynchronize(queue_.stream);  // kernels may still write the fault
  cudaStreamDestroy(queue_.stream);
  cudaFreeHost(fault_);
}

std::unique_ptr<Event> CudaStream::record_event() {
  select_device();
  return std::make_unique<CudaEvent>(queue_.stream);
}

void CudaStream::wait(const Event& event) {
  select_device();
  check(cudaStreamWaitEvent(queue_.stream, of_cuda(event).event(), 0), "cudaStreamWaitEvent");
}

void CudaStream::synchronise() {
  select_device();
  check(cudaStreamSynchronize(queue_.stream), "cudaStreamSynchronize");
  if (std::exchange(*static_cast<volatile int*>(fault_), 0) != 0)
    throw core::BadInput("an embedding looks up a row that its table does not have");
}

void CudaStream::evict_caches() {
  select_device();
  if (!sweep_) {
    sweep_.emplace(2 * std::int64_t{attribute(cudaDevAttrL2CacheSize, place_->device())});
  }
  check(cudaMemsetAsync(sweep_->data(), 0, static_cast<std::size_t>(sweep_->bytes()), queue_.stream),
        "cudaMemsetAsync");
}

std::function<void()> CudaStream::bundle(int copies, const std::function<void()>& body) {
  select_device();
  const cudaGraph_t graph = capture(queue_.stream, copies, body);
  cudaGraphExec_t ready = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  const std::shared_ptr<CUgraphExec_st> owned(ready,
                                              [](cudaGraphExec_t made) { cudaGraphExecDestroy(made); });
  return [this, owned] {
    select_device();
    check(cudaGraphLaunch(owned.get(), queue_.stream), "cudaGraphLaunch");
  };
}

const LaunchQueue& queue_of(Stream& stream, const DevicePlace& place) {
  const auto* known = dynamic_cast<const CudaStream*>(&stream);
  core::require(known != nullptr && known->place() == place, "a kernel runs on a stream of its device");
  return known->queue();
}

}  // namespace penstock::kernels::cuda
