#include "cuda/backend.hpp"

#include <fmt/format.h>

#include "cuda/collectives.hpp"
#include "cuda/function.hpp"
#include "cuda/kernel.hpp"
#include "cuda/libraries.hpp"
#include "cuda/stream.hpp"
#include "cuda/update.hpp"

namespace penstock::kernels {
namespace cuda {
namespace {

constexpr int kOldest = 80;  ///< compute capability for which kernels are compiled; newer ones work, too

using SharedPlace = std::shared_ptr<const DevicePlace>;

class CudaBuffer : public Buffer {
 public:
  CudaBuffer(Element element, std::int64_t count) : Buffer(element, count), memory_(bytes().value()) {}
  void* data() const override { return memory_.data(); }

 private:
  DeviceMemory memory_;
};

class CudaKernel : public Kernel {
 public:
  CudaKernel(const graph::Operator& op, std::int64_t samples, Precision precision,
             std::shared_ptr<LibraryHandles> libraries, SharedPlace place)
      : libraries_(std::move(libraries)),
        passes_(op, samples, precision, *libraries_),
        place_(std::move(place)) {}
  const KernelSlots& slots() const override { return passes_.slots(); }
  bool has(graph::Pass pass) const override { return has_pass(passes_.slots(), pass); }
  void run(graph::Pass pass, const Operands& operands, Stream& stream) override {
    select(place_->device());
    passes_.run(pass, operands, queue_of(stream, *place_));
  }
  std::string algorithm(graph::Pass pass) const override { return passes_.program(pass).algorithm(); }
  core::Bytes workspace(graph::Pass pass) const override { return passes_.program(pass).workspace(); }

 private:
  std::shared_ptr<LibraryHandles> libraries_;
  PassPrograms passes_;
  SharedPlace place_;
};

class CudaUpdate : public OptimizerStep {
 public:
  CudaUpdate(const UpdateRule& rule, std::int64_t count, Element element, SharedPlace place)
      : rule_(rule),
        count_(count),
        element_(element),
        place_(std::move(place)),
        state_(update_state(rule, count, element)) {}
  const std::vector<Slot>& state() const override { return state_; }
  void run(Buffer& parameters, const Buffer& before, const Buffer& gradient, std::span<Buffer* const> state,
           std::int64_t step, Stream& stream) override {
    select(place_->device());
    update(queue_of(stream, *place_), UpdateStep(rule_, step),
           update_arrays(state_, count_, element_, parameters, before, gradient, state, step), element_,
           count_);
  }

 private:
  UpdateRule rule_;
  std::int64_t count_;
  Element element_;
  SharedPlace place_;
  std::vector<Slot> state_;
};

std::size_t length(const Buffer& buffer) {
  return static_cast<std::size_t>(buffer.bytes().value());
}

bool alike(const Buffer& a, const Buffer& b) {
  return a.element() == b.element() && a.count() == b.count();
}

/// Formats 13020 as 13.2.
std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string library_version(std::size_t version, std::size_t thousand) {
  return fmt::format("{}.{}.{}", version / thousand, version % thousand / 100, version % 100);
}

}  // namespace

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const CudaName& name)
      : place_(std::make_shared<DevicePlace>(name)),
        libraries_(std::make_shared<LibraryHandles>(place_->multiprocessors())),
        transfers_(std::make_unique<CudaStream>(place_)) {}
  std::string name() const override { return to_string(place_->name()); }
  std::string place() const override { return place_->unique_name(); }
  std::vector<std::pair<std::string, std::string>> identity() const override;
  bool supports(Precision) const override { return true; }  // supported by every device from kOldest on
  std::unique_ptr<Buffer> allocate(Element element, std::int64_t count) override;
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(place_); }
  void write(Buffer& to, std::span<const std::byte> bytes) override;
  void read(const Buffer& from, std::span<std::byte> bytes) override;
  void copy(Buffer& to, const Buffer& from, Stream& stream) override;
  void zero(Buffer& buffer, Stream& stream) override;
  void add(Buffer& to, const Buffer& term, Stream& stream) override;
  std::unique_ptr<Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                      Precision precision) override {
    select_device();
    return std::make_unique<CudaKernel>(op, samples, precision, libraries_, place_);
  }
  std::unique_ptr<OptimizerStep> make_update(const UpdateRule& rule, std::int64_t count,
                                             Precision precision) override {
    return std::make_unique<CudaUpdate>(rule, count, storage(precision), place_);
  }

  std::unique_ptr<Collectives> collectives(const std::vector<Backend*>& ranks,
                                           const Invitation& invitation) override {
    return collectives_of(ranks, invitation);
  }
  /// Partitions of a GPU cannot take part.
  Invitation invite() override {
    select_device();
    return place_->name().partitions == 0 ? invitation_of_nccl() : Invitation();
  }

 private:
  void select_device() const { select(place_->device()); }
  void transfer(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

  SharedPlace place_;
  std::shared_ptr<LibraryHandles> libraries_;
  std::unique_ptr<CudaStream> transfers_;  ///< waits for no other work
};

/// A partition has all of the memory, shared with the others.
std::vector<std::pair<std::string, std::string>> CudaBackend::identity() const {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, place_->device()), "cudaGetDeviceProperties");
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const int partitions = place_->name().partitions, all = device.multiProcessorCount;
  const int own = partitions == 0 ? all : place_->multiprocessors();
  return {{"device", partitions == 0 ? device.name
                                     : fmt::format("{}, {} of {} multiprocessors", device.name, own, all)},
          {"compute capability", fmt::format("{}.{}", device.major, device.minor)},
          {"multiprocessors", std::to_string(own)},
          {"memory", fmt::format("{}B", device.totalGlobalMem)},
          {"ECC", device.ECCEnabled != 0 ? "on" : "off"},
          {"most clock", fmt::format("{}kHz", attribute(cudaDevAttrClockRate, place_->device()))},
          {"driver", "CUDA " + cuda_version(driver)},
          {"CUDA", cuda_version(runtime)},
          {"cuDNN", library_version(cudnnGetVersion(), 10000)},
          {"cuBLASLt", library_version(cublasLtGetVersion(), 10000)}};
}

std::unique_ptr<Buffer> CudaBackend::allocate(Element element, std::int64_t count) {
  core::require(count >= 1, "a buffer has elements");
  select_device();
  return std::make_unique<CudaBuffer>(element, count);
}

void CudaBackend::transfer(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  select_device();
  check(cudaMemcpyAsync(to, from, bytes, kind, transfers_->queue().stream), "cudaMemcpyAsync");
  transfers_->synchronise();
}

void CudaBackend::write(Buffer& to, std::span<const std::byte> bytes) {
  core::require(bytes.size() == length(to), "as many bytes as the buffer has");
  transfer(to.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
}

void CudaBackend::read(const Buffer& from, std::span<std::byte> bytes) {
  core::require(bytes.size() == length(from), "as many bytes as the buffer has");
  transfer(bytes.data(), from.data(), bytes.size(), cudaMemcpyDeviceToHost);
}

void CudaBackend::copy(Buffer& to, const Buffer& from, Stream& stream) {
  core::require(alike(to, from), "copied buffers are alike");
  select_device();
  check(cudaMemcpyAsync(to.data(), from.data(), length(to), cudaMemcpyDeviceToDevice,
                        queue_of(stream, *place_).stream),
        "cudaMemcpyAsync");
}

void CudaBackend::zero(Buffer& buffer, Stream& stream) {
  select_device();
  check(cudaMemsetAsync(buffer.data(), 0, length(buffer), queue_of(stream, *place_).stream),
        "cudaMemsetAsync");
}

void CudaBackend::add(Buffer& to, const Buffer& term, Stream& stream) {
  core::require(alike(to, term) && to.element() != Element::int64, "added buffers are alike");
  select_device();
  add_elements(queue_of(stream, *place_), to.element(), to.count(), to.data(), term.data());
}

namespace {

/// Number of devices; throws BadInput without a driver that works with this build.
int count_devices() {
  // Streams share a device's queues if there are too few: work that waits for another process would then
  // block work that the other waits for. The driver reads this variable when it starts.
  [[maybe_unused]] static const int queues = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count;
  cudaGetLastError();  // clears this error
  if (status == cudaErrorNoDevice) return 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  if (driver == 0) throw core::BadInput("this machine has no CUDA driver");
  if (status == cudaErrorInsufficientDriver)
    throw core::BadInput(fmt::format("the driver is too old: it knows CUDA {}, this build needs {}",
                                     cuda_version(driver), cuda_version(runtime)));
  throw core::BadInput(fmt::format("the CUDA driver does not work: {}", cudaGetErrorString(status)));
}

}  // namespace
}  // namespace cuda

int cuda_devices() {
  try {
    return cuda::count_devices();
  } catch (const core::BadInput&) {
    return 0;
  }
}

std::unique_ptr<Backend> open_cuda(const std::string& device) try {
  const CudaName name = cuda_name(device);
  const int number = name.device, count = cuda::count_devices();
  if (number >= count)
    throw core::BadInput(count == 0 ? "this machine has no CUDA device"
                                    : fmt::format("this machine has {} CUDA device{}, counted from 0", count,
                                                  count == 1 ? "" : "s"));
  if (const int found = cuda::capability(number); found < cuda::kOldest)
    throw core::BadInput(fmt::format("its compute capability is {}.{}, kernels need {}.{}", found / 10,
                                     found % 10, cuda::kOldest / 10, cuda::kOldest % 10));
  return std::make_unique<cuda::CudaBackend>(name);
} catch (const core::BadInput& e) {
  throw core::BadInput(fmt::format("device '{}': {}", device, e.what()));
}

}  // namespace penstock::kernels
