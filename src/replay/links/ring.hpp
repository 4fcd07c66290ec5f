#pragma once
// Sums of gradients around a ring.

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "worker/device_accumulator.hpp"
#include "worker/float_pieces.hpp"

namespace penstock::replay {

/// Reduce-scatter, then all-gather around a ring (Patarasuk and Yuan, JPDC 2009): n - 1 steps in which every
/// replica hands a growing sum of one n-th on, n - 1 that hand the sums round. Parts travel in slices, so
/// that one is added while the next is on its way. Part q is summed in the order of the replicas from q on
/// and then copied, so that all end with the same bits. Sums are in fp32.
class Ring {
 public:
  /// Of `bytes` of gradients of n >= 1 replicas; its transfers are numbered from `first` on. Not `sliced`:
  /// each part travels as one.
  Ring(std::size_t replicas, core::Bytes bytes, std::size_t first, bool sliced = true);

  /// Every slice is sent, be it empty.
  std::vector<Transfer> transfers(const std::vector<core::DeviceId>& devices) const;

  /// Of so many numbers.
  std::size_t largest_part(std::size_t numbers) const { return (numbers + replicas_ - 1) / replicas_; }
  /// Kept from one iteration to the next, since new memory comes slowly. What a neighbour still reads is not
  /// written before the next iteration.
  struct Scratch {
    using Floats = std::shared_ptr<std::vector<float>>;
    Floats sums = std::make_shared<std::vector<float>>();
    std::array<Floats, 2> rooms = {std::make_shared<std::vector<float>>(),
                                   std::make_shared<std::vector<float>>()};
  };
  /// What replica `member` does; all do so side by side, with as many numbers in as many pieces. Sums replace
  /// its gradients, which nobody reads any more when it returns.
  void run(Links& links, std::size_t member, const FloatPieces& gradients, const Scratch& scratch,
           const std::function<std::string()>& awaited) const;
  /// The same of rows that are no memory of the host, in one slice; the largest part fits in `room`.
  void run(Links& links, std::size_t member, Accumulator& values, Accumulator& room,
           const std::function<std::string()>& awaited) const;
  /// The same sums, bit by bit, put on the streams of all replicas' rows by one thread; nobody waits.
  static void put(const std::vector<std::unique_ptr<DeviceAccumulator>>& values,
                  const std::vector<std::unique_ptr<DeviceAccumulator>>& rooms);
  /// The same sums, bit by bit, by one who holds the values of all replicas.
  static void sum(std::span<std::vector<float>> values);

 private:
  class Member;
  std::size_t moves() const { return 2 * (replicas_ - 1) * slices_; }
  std::size_t part_of(std::size_t step, std::size_t sender) const;
  std::size_t transfer(std::size_t move, std::size_t sender) const {
    return first_ + move * replicas_ + sender;
  }

  std::size_t replicas_, bytes_, slices_, first_;
};

}  // namespace penstock::replay
