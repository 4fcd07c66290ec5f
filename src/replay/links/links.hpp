#pragma once
// The seam between devices that exchange bytes and what carries these.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"

namespace penstock::replay {

class Copier;

/// Bytes of the host, or of a device; `owner` keeps them there.
struct Piece {
  std::shared_ptr<void> owner;
  std::byte* data = nullptr;
  std::size_t size = 0;
  Copier* copier = nullptr;  ///< what copies to there, of a device
};
using Pieces = std::vector<Piece>;

/// From one device to another.
struct Transfer {
  core::DeviceId sender, receiver;
  core::Bytes bytes;
};

/// Carries transfers, known by number beforehand. A transfer moves once it is both sent, by the sender's
/// threads, and opened, by the receiver's. Both ends may live in different processes: nobody else asks for
/// either.
class Links {
 public:
  virtual ~Links() = default;
  /// `from` is read until the transfer has arrived.
  virtual void send(std::size_t transfer, Pieces from) = 0;
  /// `room` is called once, when the bytes come, from another thread; the same sizes as the sender's.
  virtual void open(std::size_t transfer, std::function<Pieces()> room) = 0;
  /// Returns once the transfer is there. One without bytes is never opened.
  virtual void wait(std::size_t transfer, const std::function<std::string()>& awaited) = 0;
};

}  // namespace penstock::replay
