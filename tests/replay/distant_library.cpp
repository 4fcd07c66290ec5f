#include "distant_library.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "penstock/core/error.hpp"

namespace penstock::replay::test {
namespace {

constexpr std::size_t kMostRanks = 8, kNumbers = 1 << 16, kPart = 100;

/// Zeros at first.
struct MessageBoard {
  std::atomic<std::size_t> joined, came, round;
  std::atomic<bool> over;
  std::atomic<std::size_t> full;  ///< bytes in the box; 0: the sender may write
  std::byte box[kPart];
  float numbers[kMostRanks][kNumbers];
};

struct PendingBytes {
  std::byte* data;
  std::size_t left;
};

class DistantLibrary : public kernels::Collectives {
 public:
  DistantLibrary(const std::vector<kernels::Backend*>& ranks, std::string name)
      : name_(std::move(name)), ranks_(ranks.size()), moving_(ranks.size()) {
    core::require(ranks_ <= kMostRanks, "few devices");
    const int file = shm_open(name_.c_str(), O_RDWR, 0);
    core::require(file >= 0, "shared memory");
    void* const memory = mmap(nullptr, sizeof(MessageBoard), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    core::require(memory != MAP_FAILED, "shared memory");
    board_ = static_cast<MessageBoard*>(memory);
    for (const auto* backend : ranks) board_->joined += backend != nullptr;
    ++distant_calls().joined;
  }
  ~DistantLibrary() override {
    shm_unlink(name_.c_str());
    munmap(board_, sizeof(MessageBoard));
  }
  DistantLibrary(const DistantLibrary&) = delete;
  DistantLibrary& operator=(const DistantLibrary&) = delete;

  void all_reduce(std::size_t rank, kernels::Buffer& values, kernels::Stream&) override {
    const auto count = static_cast<std::size_t>(values.count());
    core::require(count <= kNumbers, "few numbers");
    if (++distant_calls().sums == distant_calls().broken_sum)
      throw core::Error(core::ExitCode::device_failed, "broken");
    auto* const own = static_cast<float*>(values.data());
    std::copy(own, own + count, board_->numbers[rank]);
    all_come();
    for (std::size_t i = 0; i < count; ++i) {
      own[i] = board_->numbers[0][i];
      for (std::size_t r = 1; r < ranks_; ++r) own[i] += board_->numbers[r][i];
    }
    all_come();
  }
  void reduce_scatter(std::size_t, const kernels::Buffer&, kernels::Buffer&, kernels::Stream&) override {}
  void all_gather(std::size_t, const kernels::Buffer&, kernels::Buffer&, kernels::Stream&) override {}

  void send(std::size_t rank, std::size_t, const std::vector<const kernels::Buffer*>& values,
            kernels::Stream&) override {
    ++distant_calls().sends;
    for (const auto* buffer : values) put(rank, *buffer);
  }
  void receive(std::size_t rank, std::size_t, const std::vector<kernels::Buffer*>& values,
               kernels::Stream&) override {
    for (const auto* buffer : values) put(rank, *buffer);
  }

  bool settled(std::size_t rank) override {
    if (board_->joined < ranks_) return false;
    shm_unlink(name_.c_str());  // all have it
    auto& moving = moving_[rank];
    while (!moving.empty() && moving.front().left == 0) moving.erase(moving.begin());
    if (moving.empty()) return true;
    step(rank, moving.front());
    return false;
  }
  void abort() override { board_->over = true; }

 private:
  void put(std::size_t rank, const kernels::Buffer& buffer) {
    core::require(moving_[rank].empty() || moving_[rank].front().left > 0, "what went before has settled");
    moving_[rank].push_back(
        {static_cast<std::byte*>(buffer.data()), static_cast<std::size_t>(buffer.bytes().value())});
  }
  void step(std::size_t rank, PendingBytes& moving) {
    const std::size_t full = board_->full;
    if ((rank == 0) == (full > 0)) return;
    const std::size_t size = rank == 0 ? std::min(kPart, moving.left) : full;
    core::require(size <= moving.left, "both ends are as long");
    rank == 0 ? std::memcpy(board_->box, moving.data, size) : std::memcpy(moving.data, board_->box, size);
    board_->full = rank == 0 ? size : 0;
    moving.data += size;
    moving.left -= size;
  }

  void all_come() {
    const std::size_t round = board_->round;
    if (++board_->came == ranks_) {
      board_->came = 0;
      ++board_->round;
    }
    while (board_->round == round && !board_->over) std::this_thread::yield();
  }

  const std::string name_;
  const std::size_t ranks_;
  MessageBoard* board_ = nullptr;
  std::vector<std::vector<PendingBytes>> moving_;  ///< [rank]
};

}  // namespace

DistantCalls& distant_calls() {
  static DistantCalls calls;
  return calls;
}

kernels::Invitation invite_distant() {
  static int made = 0;
  const std::string name = fmt::format("/penstock-{}-{}", getpid(), ++made);
  shm_unlink(name.c_str());  // a killed process with this number may have left one, with old counts
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  core::require(file >= 0 && ftruncate(file, sizeof(MessageBoard)) == 0, "shared memory");
  close(file);
  const auto* first = reinterpret_cast<const std::byte*>(name.data());
  return {first, first + name.size()};
}

std::unique_ptr<kernels::Collectives> join_distant(const std::vector<kernels::Backend*>& ranks,
                                                   const kernels::Invitation& invitation) {
  return std::make_unique<DistantLibrary>(
      ranks, std::string(reinterpret_cast<const char*>(invitation.data()), invitation.size()));
}

}  // namespace penstock::replay::test
