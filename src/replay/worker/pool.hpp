#pragma once
// The memory of one device: buffers that are used again and again, and what is in use for what.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/kernels/backend.hpp"
#include "penstock/plan/memory_kind.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// Whoever holds it may use the buffer; the last one gives it back.
using Lease = std::shared_ptr<kernels::Buffer>;

/// Counts memory that is in use, not memory that idles between two uses. Lives as long as its leases. May be
/// asked from several threads.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  /// `device` is named where more than `capacity` bytes are in use.
  Pool(kernels::Backend& backend, core::Bytes capacity, std::string device);

  /// Contents undefined. `what` it is for stands in the error. From another thread than the one that works:
  /// `settled`, then the buffer is none that work under way may still use. Throws Error(device_failed) when
  /// memory is out.
  Lease acquire(kernels::Element element, std::int64_t count, plan::MemoryKind kind, const std::string& what,
                bool settled = false);
  /// A buffer that is there already, and takes part in the count for a while.
  Lease lend(const Lease& buffer, plan::MemoryKind kind, const std::string& what);
  /// The bytes of an acquired buffer serve another purpose from now on.
  void move(const Lease& lease, plan::MemoryKind kind);
  /// Scratch of a kernel that runs: counted, and at once no more.
  void touch(core::Bytes bytes, plan::MemoryKind kind, const std::string& what);
  /// All work so far is done: buffers that were given back since may go to any thread.
  void settle();

  Worker::Memory memory() const;

 private:
  using Size = std::pair<kernels::Element, std::int64_t>;
  using Owned = std::unique_ptr<kernels::Buffer>;
  using Idle = std::map<Size, std::vector<Owned>>;

  Owned take(Size size, bool settled);
  Owned make(Size size, const std::string& what);
  void count(core::Bytes bytes, plan::MemoryKind kind);
  void check(core::Bytes bytes, const std::string& what) const;
  void give_back(kernels::Buffer* buffer);
  [[noreturn]] void fail(core::Bytes bytes, const std::string& what, const std::string& why) const;

  kernels::Backend& backend_;
  core::Bytes capacity_;
  std::string device_;
  mutable std::mutex mutex_;
  Idle settled_, recent_;
  std::map<const kernels::Buffer*, plan::MemoryKind> used_;
  Worker::Memory memory_;
};

}  // namespace penstock::replay
