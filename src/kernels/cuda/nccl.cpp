#include "cuda/nccl.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"

namespace penstock::kernels::cuda {
namespace {

ncclDataType_t type_of(Element element) {
  core::require(element != Element::int64, "collectives are of floating elements");
  if (element == Element::bf16) return ncclBfloat16;
  return element == Element::fp16 ? ncclFloat16 : ncclFloat32;
}

class Nccl : public Collectives {
 public:
  Nccl(const std::vector<int>& devices, QueueOf queue, const NcclCalls& calls)
      : calls_(calls), devices_(devices), queue_(std::move(queue)), ranks_(devices.size()) {
    check(calls_.init(ranks_.data(), static_cast<int>(devices.size()), devices.data()), "ncclCommInitAll");
  }
  ~Nccl() override {
    for (const ncclComm_t rank : ranks_) calls_.destroy(rank);
  }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  void all_reduce(std::size_t rank, Buffer& values, Stream& stream) override {
    check(calls_.all_reduce(values.data(), values.data(), count(values), type_of(values.element()), ncclSum,
                            ranks_[rank], queue_(devices_[rank], stream)),
          "ncclAllReduce");
  }
  void reduce_scatter(std::size_t rank, const Buffer& values, Buffer& part, Stream& stream) override {
    require_parts(values, part);
    check(calls_.reduce_scatter(values.data(), part.data(), count(part), type_of(part.element()), ncclSum,
                                ranks_[rank], queue_(devices_[rank], stream)),
          "ncclReduceScatter");
  }
  void all_gather(std::size_t rank, const Buffer& part, Buffer& values, Stream& stream) override {
    require_parts(values, part);
    check(calls_.all_gather(part.data(), values.data(), count(part), type_of(part.element()), ranks_[rank],
                            queue_(devices_[rank], stream)),
          "ncclAllGather");
  }

 private:
  static std::size_t count(const Buffer& buffer) { return static_cast<std::size_t>(buffer.count()); }
  void require_parts(const Buffer& whole, const Buffer& part) const {
    core::require(whole.element() == part.element() && count(whole) == count(part) * ranks_.size(),
                  "as many parts as ranks");
  }
  void check(ncclResult_t result, const char* call) const {
    if (result != ncclSuccess)
      throw core::Error(core::ExitCode::device_failed,
                        fmt::format("{}: {}", call, calls_.error_string(result)));
  }

  const NcclCalls calls_;
  const std::vector<int> devices_;
  const QueueOf queue_;
  std::vector<ncclComm_t> ranks_;
};

}  // namespace

std::unique_ptr<Collectives> make_collectives(const std::vector<int>& devices, QueueOf queue,
                                              const NcclCalls& calls) {
  return std::make_unique<Nccl>(devices, std::move(queue), calls);
}

}  // namespace penstock::kernels::cuda
