#pragma once
// Interface between devices that exchange bytes and their transport.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"

namespace penstock::replay {

class PieceCopier;

/// Bytes of the host or of a device; `owner` keeps them alive.
struct MemoryPiece {
  std::shared_ptr<void> owner;
  std::byte* data = nullptr;
  std::size_t size = 0;
  PieceCopier* copier = nullptr;  ///< copies to it, if it is on a device
};
using Pieces = std::vector<MemoryPiece>;

/// Bytes from one device to another.
struct DeviceTransfer {
  core::DeviceId sender, receiver;
  core::Bytes bytes;
};

/// Carries transfers, which are numbered beforehand. A transfer moves once the sender's threads have sent it
/// and the receiver's have opened it. The ends may be in different processes; each calls only its own side.
class TransferLinks {
 public:
  virtual ~TransferLinks() = default;
  /// Reads `from` until the transfer has arrived.
  virtual void send(std::size_t transfer, Pieces from) = 0;
  /// `room` is called once, when the bytes come, from another thread; it returns pieces of the sender's
  /// sizes.
  virtual void open(std::size_t transfer, std::function<Pieces()> room) = 0;
  /// Returns once the transfer has arrived. A transfer without bytes is never opened.
  virtual void wait(std::size_t transfer, const std::function<std::string()>& awaited) = 0;
};

}  // namespace penstock::replay
