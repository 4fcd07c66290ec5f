#pragma once
// Sums of gradients around a ring.

#include <memory>
#include <vector>

#include "device_numbers.hpp"
#include "links.hpp"

namespace penstock::replay {

/// Reduce-scatter, then all-gather around a ring (Patarasuk and Yuan, JPDC 2009): n - 1 steps in which every
/// replica hands a growing sum of one n-th on, n - 1 that hand the sums round. Part q is summed in the order
/// of the replicas from q on and then copied, so that all end with the same bits. Sums are in fp32.
class Ring {
 public:
  /// Among n >= 2 replicas; its parcels are numbered from `first` on.
  Ring(std::size_t replicas, std::size_t first) : replicas_(replicas), first_(first) {}

  /// Of `bytes` of gradients; every part is sent, be it empty.
  std::vector<Parcel> parcels(const std::vector<core::DeviceId>& devices, core::Bytes bytes) const;

  /// Of so many numbers.
  std::size_t largest_part(std::size_t numbers) const { return (numbers + replicas_ - 1) / replicas_; }
  /// What replica `member` does; all do so side by side, with as many values. The largest part fits in
  /// `room`.
  void run(Links& links, std::size_t member, Numbers& values, Numbers& room,
           const std::function<std::string()>& awaited) const;
  /// The same sums, bit by bit, put on the streams of all replicas' rows by one thread; nobody waits.
  static void put(const std::vector<std::unique_ptr<DeviceNumbers>>& values,
                  const std::vector<std::unique_ptr<DeviceNumbers>>& rooms);
  /// The same sums, bit by bit, by one who holds the values of all replicas.
  static void sum(std::vector<std::vector<float>>& values);

 private:
  std::size_t part_of(std::size_t step, std::size_t sender) const;
  std::size_t parcel(std::size_t step, std::size_t sender) const {
    return first_ + step * replicas_ + sender;
  }

  std::size_t replicas_, first_;
};

}  // namespace penstock::replay
