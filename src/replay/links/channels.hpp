#pragma once
// Transfers between devices of different processes, by the library of the devices.

#include <deque>
#include <map>
#include <utility>

#include "links/copier.hpp"
#include "penstock/kernels/collectives.hpp"

namespace penstock::replay {

/// A channel leads from one device to another, one for each direction, so that no message waits for a message
/// to another device. Both ends put the same transfers on it in the same order; they run one after the other.
/// Used by one thread, except for `abort`.
class DeviceChannels {
 public:
  using Way = std::pair<core::DeviceId, core::DeviceId>;  ///< from, to
  /// Adds one end, on a device of this process: rank 0 of `library` sends, rank 1 receives.
  void add(Way way, std::size_t rank, kernels::Backend& backend,
           std::unique_ptr<kernels::Collectives> library);
  bool empty() const { return lanes_.empty(); }

  /// Sends or receives, depending on the end in this process; `land` calls `landed`.
  void put(Way way, Pieces pieces, std::function<void()> landed);
  /// Makes progress on all channels; returns true if any transfer landed.
  bool land();
  void abort();

 private:
  struct ChannelTask {
    Pieces pieces;
    std::function<void()> landed;
  };
  struct ChannelEnd {
    std::size_t rank;
    std::unique_ptr<kernels::Collectives> library;
    std::unique_ptr<kernels::Stream> stream;
    std::deque<ChannelTask> tasks{};  ///< the first one is running
    std::unique_ptr<kernels::Event> over{};
  };
  static void begin(ChannelEnd& lane);
  static bool done(ChannelEnd& lane);

  std::map<Way, ChannelEnd> lanes_;
};

}  // namespace penstock::replay
