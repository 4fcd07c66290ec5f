#pragma once
// Gradient sums around a ring.

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "worker/device_accumulator.hpp"
#include "worker/float_pieces.hpp"

namespace penstock::replay {

/// Reduce-scatter, then all-gather around a ring (Patarasuk and Yuan, JPDC 2009): n - 1 steps in which every
/// replica passes on a growing sum of one n-th. Another n - 1 pass the sums around. Parts travel in slices,
/// so that one is added while the next is sent. Part q is summed in the order of the replicas from q on and
/// then copied, so that all end with identical bits. Sums are in fp32.
class ReductionRing {
 public:
  /// For `bytes` of gradients of n >= 1 replicas; its transfers are numbered from `first` on. Without
  /// `sliced` each part travels as one.
  ReductionRing(std::size_t replicas, core::Bytes bytes, std::size_t first, bool sliced = true);

  /// Every slice is sent, even if empty.
  std::vector<DeviceTransfer> transfers(const std::vector<core::DeviceId>& devices) const;

  /// Size of the largest part of this many numbers.
  std::size_t largest_part(std::size_t numbers) const { return (numbers + replicas_ - 1) / replicas_; }
  /// Kept between iterations, because allocating memory is slow. Memory that a neighbour still reads is not
  /// written before the next iteration.
  struct RingScratch {
    using Floats = std::shared_ptr<std::vector<float>>;
    Floats sums = std::make_shared<std::vector<float>>();
    std::array<Floats, 2> rooms = {std::make_shared<std::vector<float>>(),
                                   std::make_shared<std::vector<float>>()};
  };
  /// Runs replica `member`; all replicas run in parallel, with equal numbers and pieces. Sums replace its
  /// gradients, which have no other reader after it returns.
  void run(TransferLinks& links, std::size_t member, const FloatPieces& gradients, const RingScratch& scratch,
           const std::function<std::string()>& awaited) const;
  /// Like the other overload, for values that are not in host memory, in one slice; the largest part fits in
  /// `room`.
  void run(TransferLinks& links, std::size_t member, GradientAccumulator& values, GradientAccumulator& room,
           const std::function<std::string()>& awaited) const;
  /// Puts bit-identical sums on the streams of all replicas' values, from one thread, without waiting.
  static void put(const std::vector<std::unique_ptr<DeviceAccumulator>>& values,
                  const std::vector<std::unique_ptr<DeviceAccumulator>>& rooms);
  /// Bit-identical sums, computed by one thread that has the values of all replicas.
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
