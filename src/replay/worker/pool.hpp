#pragma once
// Memory of one device: reusable buffers, and the bytes in use by kind.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/kernels/backend.hpp"
#include "penstock/plan/memory_kind.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// Any holder may use the buffer; the last one returns it.
using Lease = std::shared_ptr<kernels::Buffer>;

/// Counts memory that is in use, not memory that idles between two uses. Lives as long as its leases.
/// Thread-safe.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  /// Errors name `device` if more than `capacity` bytes are in use.
  BufferPool(kernels::Backend& backend, core::Bytes capacity, std::string device);

  /// Contents are undefined; errors state `what` it is for. `settled` must be true for a thread other than
  /// the working one: the buffer is then one that running work does not use. Throws Error(device_failed) if
  /// memory runs out.
  Lease acquire(kernels::Element element, std::int64_t count, plan::MemoryKind kind, const std::string& what,
                bool settled = false);
  /// Counts an existing buffer for a while.
  Lease lend(const Lease& buffer, plan::MemoryKind kind, const std::string& what);
  /// Counts the bytes of an acquired buffer under another kind from now on.
  void move(const Lease& lease, plan::MemoryKind kind);
  /// Counts scratch memory of a kernel that runs, only for the moment.
  void touch(core::Bytes bytes, plan::MemoryKind kind, const std::string& what);
  /// All work so far is done: buffers returned since then may go to any thread.
  void settle();

  Worker::WorkerMemory memory() const;

 private:
  using Size = std::pair<kernels::Element, std::int64_t>;
  using Owned = std::unique_ptr<kernels::Buffer>;
  using Idle = std::map<Size, std::vector<Owned>>;

  Owned take(Size size, bool settled);
  Owned make(Size size, const std::string& what);
  void raise(plan::MemoryKind kind, core::Bytes bytes);
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
  Worker::WorkerMemory memory_;
};

}  // namespace penstock::replay
