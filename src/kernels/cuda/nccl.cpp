#include "cuda/nccl.hpp"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "penstock/core/error.hpp"

namespace penstock::kernels::cuda {
namespace {

ncclDataType_t type_of(Element element) {
  core::require(element != Element::int64, "collectives are of floating elements");
  if (element == Element::bf16) return ncclBfloat16;
  return element == Element::fp16 ? ncclFloat16 : ncclFloat32;
}

void check(const NcclCalls& calls, ncclResult_t result, const char* call) {
  if (result != ncclSuccess && result != ncclInProgress)
    throw core::Error(core::ExitCode::device_failed, fmt::format("{}: {}", call, calls.error_string(result)));
}

class NcclCollectives : public Collectives {
 public:
  NcclCollectives(const std::vector<std::optional<int>>& devices, const Invitation& invitation, Select select,
                  QueueOf queue, const NcclCalls& calls)
      : calls_(calls), select_(std::move(select)), queue_(std::move(queue)), together_(invitation.empty()) {
    for (const auto device : devices) ranks_.emplace_back().device = device;
    try {
      together_ ? init_all() : init_own(invitation);
    } catch (...) {
      abort();
      throw;
    }
  }
  /// Does not wait for other processes, which may have ended: their last work is either done or irrelevant.
  ~NcclCollectives() override { end(together_ ? calls_.destroy : calls_.abort); }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  void all_reduce(std::size_t rank, Buffer& values, Stream& stream) override {
    call(rank, "ncclAllReduce", stream, [&](ncclComm_t comm, cudaStream_t on) {
      return calls_.all_reduce(values.data(), values.data(), count(values), type_of(values.element()),
                               ncclSum, comm, on);
    });
    settle(rank);
  }
  void reduce_scatter(std::size_t rank, const Buffer& values, Buffer& part, Stream& stream) override {
    require_parts(values, part);
    call(rank, "ncclReduceScatter", stream, [&](ncclComm_t comm, cudaStream_t on) {
      return calls_.reduce_scatter(values.data(), part.data(), count(part), type_of(part.element()), ncclSum,
                                   comm, on);
    });
    settle(rank);
  }
  void all_gather(std::size_t rank, const Buffer& part, Buffer& values, Stream& stream) override {
    require_parts(values, part);
    call(rank, "ncclAllGather", stream, [&](ncclComm_t comm, cudaStream_t on) {
      return calls_.all_gather(part.data(), values.data(), count(part), type_of(part.element()), comm, on);
    });
    settle(rank);
  }

  void send(std::size_t rank, std::size_t to, const std::vector<const Buffer*>& values,
            Stream& stream) override {
    call_for_all(rank, "ncclSend", values, stream, [&](const Buffer& buffer, auto... where) {
      return calls_.send(buffer.data(), size(buffer), ncclInt8, static_cast<int>(to), where...);
    });
  }
  void receive(std::size_t rank, std::size_t from, const std::vector<Buffer*>& values,
               Stream& stream) override {
    call_for_all(rank, "ncclRecv", values, stream, [&](const Buffer& buffer, auto... where) {
      return calls_.receive(buffer.data(), size(buffer), ncclInt8, static_cast<int>(from), where...);
    });
  }

  bool settled(std::size_t rank) override {
    NcclRank& own = ranks_[rank];
    const std::lock_guard lock(own.mutex);
    ncclResult_t state = ncclSuccess;
    check(calls_, calls_.state(alive(own), &state), "ncclCommGetAsyncError");
    check(calls_, state, "NCCL");
    return state == ncclSuccess;
  }

  void abort() override { end(calls_.abort); }

 private:
  struct NcclRank {
    std::optional<int> device{};
    ncclComm_t comm = nullptr;
    std::mutex mutex{};  ///< excludes calls during an abort
  };

  void init_all() {
    std::vector<int> devices;
    for (const NcclRank& rank : ranks_) devices.push_back(*rank.device);
    std::vector<ncclComm_t> comms(ranks_.size());
    check(calls_, calls_.init_all(comms.data(), static_cast<int>(comms.size()), devices.data()),
          "ncclCommInitAll");
    for (std::size_t r = 0; r < comms.size(); ++r) ranks_[r].comm = comms[r];
  }

  /// Ranks of one process would wait for each other unless they form one group.
  void init_own(const Invitation& invitation) {
    ncclUniqueId id;
    core::require(invitation.size() == sizeof id, "an invitation is NCCL's");
    std::memcpy(&id, invitation.data(), sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    grouped("ncclCommInitRankConfig", [&] {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!ranks_[r].device) continue;
        select_(*ranks_[r].device);
        check(calls_,
              calls_.init_rank(&ranks_[r].comm, static_cast<int>(ranks_.size()), id, static_cast<int>(r),
                               &config),
              "ncclCommInitRankConfig");
      }
    });
  }

  template <class Body>
  void grouped(const char* call, const Body& body) const {
    check(calls_, calls_.group_start(), "ncclGroupStart");
    try {
      body();
    } catch (...) {
      calls_.group_end();
      throw;
    }
    check(calls_, calls_.group_end(), call);
  }

  template <class Call>
  void call(std::size_t rank, const char* name, Stream& stream, const Call& call) {
    NcclRank& own = ranks_[rank];
    const std::lock_guard lock(own.mutex);
    const ncclComm_t comm = alive(own);
    check(calls_, call(comm, queue_(*own.device, stream)), name);
  }

  template <class Buffers, class Call>
  void call_for_all(std::size_t rank, const char* name, const Buffers& buffers, Stream& stream,
                    const Call& one) {
    call(rank, name, stream, [&](ncclComm_t comm, cudaStream_t on) {
      grouped(name, [&] {
        for (const auto* buffer : buffers) check(calls_, one(*buffer, comm, on), name);
      });
      return ncclSuccess;
    });
  }

  void settle(std::size_t rank) {
    while (!settled(rank)) std::this_thread::yield();
  }

  static ncclComm_t alive(const NcclRank& rank) {
    if (rank.comm == nullptr)
      throw core::Error(core::ExitCode::device_failed, "NCCL: what several devices do together was aborted");
    return rank.comm;
  }

  void end(ncclResult_t (*how)(ncclComm_t)) {
    for (NcclRank& rank : ranks_) {
      const std::lock_guard lock(rank.mutex);
      if (rank.comm != nullptr) how(std::exchange(rank.comm, nullptr));
    }
  }

  static std::size_t count(const Buffer& buffer) { return static_cast<std::size_t>(buffer.count()); }
  static std::size_t size(const Buffer& buffer) { return static_cast<std::size_t>(buffer.bytes().value()); }
  void require_parts(const Buffer& whole, const Buffer& part) const {
    core::require(whole.element() == part.element() && count(whole) == count(part) * ranks_.size(),
                  "as many parts as ranks");
  }

  const NcclCalls calls_;
  const Select select_;
  const QueueOf queue_;
  const bool together_;  ///< all ranks belong to this process
  std::deque<NcclRank> ranks_;
};

}  // namespace

std::unique_ptr<Collectives> make_collectives(const std::vector<std::optional<int>>& devices,
                                              const Invitation& invitation, Select select, QueueOf queue,
                                              const NcclCalls& calls) {
  return std::make_unique<NcclCollectives>(devices, invitation, std::move(select), std::move(queue), calls);
}

Invitation make_invitation(const NcclCalls& calls) {
  ncclUniqueId id;
  check(calls, calls.unique_id(&id), "ncclGetUniqueId");
  Invitation out(sizeof id);
  std::memcpy(out.data(), &id, sizeof id);
  return out;
}

}  // namespace penstock::kernels::cuda
