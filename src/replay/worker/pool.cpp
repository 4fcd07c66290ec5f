#include "worker/pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::replay {

using core::Bytes;
using kernels::Buffer;
using plan::MemoryKind;

BufferPool::BufferPool(kernels::Backend& backend, Bytes capacity, std::string device)
    : backend_(backend), capacity_(capacity), device_(std::move(device)) {}

Lease BufferPool::acquire(kernels::Element element, std::int64_t count_, MemoryKind kind,
                          const std::string& what, bool settled) {
  const std::lock_guard lock(mutex_);
  const Size size{element, count_};
  check(Bytes(count_ * kernels::size(element)), what);
  Owned buffer = take(size, settled);
  if (buffer == nullptr) buffer = make(size, what);
  count(buffer->bytes(), kind);
  used_[buffer.get()] = kind;
  return Lease(buffer.release(), [self = shared_from_this()](Buffer* b) { self->give_back(b); });
}

Lease BufferPool::lend(const Lease& buffer, MemoryKind kind, const std::string& what) {
  const std::lock_guard lock(mutex_);
  check(buffer->bytes(), what);
  count(buffer->bytes(), kind);
  return Lease(buffer.get(), [self = shared_from_this(), buffer, kind](Buffer*) {
    const std::lock_guard again(self->mutex_);
    at(self->memory_.now, kind) -= buffer->bytes();
  });
}

void BufferPool::move(const Lease& lease, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  MemoryKind& now = used_.at(lease.get());
  at(memory_.now, now) -= lease->bytes();
  raise(kind, lease->bytes());
  now = kind;
}

void BufferPool::touch(Bytes bytes, MemoryKind kind, const std::string& what) {
  const std::lock_guard lock(mutex_);
  check(bytes, what);
  count(bytes, kind);
  at(memory_.now, kind) -= bytes;
}

void BufferPool::settle() {
  const std::lock_guard lock(mutex_);
  for (auto& [size, buffers] : recent_)
    for (Owned& buffer : buffers) settled_[size].push_back(std::move(buffer));
  recent_.clear();
}

Worker::WorkerMemory BufferPool::memory() const {
  const std::lock_guard lock(mutex_);
  return memory_;
}

BufferPool::Owned BufferPool::take(Size size, bool settled) {
  for (Idle* idle : {&recent_, &settled_}) {
    if (settled && idle == &recent_) continue;
    const auto found = idle->find(size);
    if (found == idle->end() || found->second.empty()) continue;
    Owned buffer = std::move(found->second.back());
    found->second.pop_back();
    return buffer;
  }
  return nullptr;
}

/// Allocates a buffer; if the device is full, idle buffers of other sizes are freed.
BufferPool::Owned BufferPool::make(Size size, const std::string& what) {
  try {
    return backend_.allocate(size.first, size.second);
  } catch (const core::BadInput&) {
    settled_.clear();
  }
  try {
    return backend_.allocate(size.first, size.second);
  } catch (const core::BadInput& error) {
    fail(Bytes(size.second * kernels::size(size.first)), what, error.what());
  }
}

void BufferPool::check(Bytes bytes, const std::string& what) const {
  if (plan::total(memory_.now) + bytes > capacity_)
    fail(bytes, what,
         fmt::format("{} of {} are in use", core::show(plan::total(memory_.now)), core::show(capacity_)));
}

void BufferPool::fail(Bytes bytes, const std::string& what, const std::string& why) const {
  throw core::Error(core::ExitCode::device_failed, fmt::format("out of memory on {}: {} wants {}, and {}",
                                                               device_, what, core::show(bytes), why));
}

void BufferPool::raise(MemoryKind kind, Bytes bytes) {
  at(memory_.now, kind) += bytes;
  at(memory_.most, kind) = std::max(at(memory_.most, kind), at(memory_.now, kind));
}

void BufferPool::count(Bytes bytes, MemoryKind kind) {
  raise(kind, bytes);
  if (plan::total(memory_.now) > plan::total(memory_.at_peak)) memory_.at_peak = memory_.now;
}

void BufferPool::give_back(Buffer* buffer) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(buffer);
  at(memory_.now, found->second) -= buffer->bytes();
  used_.erase(found);
  recent_[{buffer->element(), buffer->count()}].emplace_back(buffer);
}

}  // namespace penstock::replay
