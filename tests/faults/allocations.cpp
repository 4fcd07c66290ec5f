#include "allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// The only globals: the language has one operator new.
std::atomic<std::int64_t> live{0}, calls{0}, refusals{0}, first{kNever};
std::atomic<bool> for_good{false};

/// A block, or nothing.
void* take(std::size_t bytes, std::size_t alignment) noexcept {
  const std::int64_t number = ++calls, from = first;
  if (number == from || (for_good && number > from)) {
    ++refusals;
    return nullptr;
  }
  bytes = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* block =
      alignment <= alignof(std::max_align_t) ? std::malloc(bytes) : std::aligned_alloc(alignment, bytes);
  live += block != nullptr;
  return block;
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* block = take(bytes, alignment)) return block;
  throw std::bad_alloc();
}

void give_back(void* block) noexcept {
  live -= block != nullptr;
  std::free(block);
}

constexpr std::size_t kUsual = alignof(std::max_align_t);
constexpr std::size_t number(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

namespace penstock::faults {

std::int64_t live_blocks() {
  return live;
}

MemoryScarcity::MemoryScarcity(std::int64_t at, bool always) {
  calls = refusals = 0;
  for_good = always;
  first = at;
}
MemoryScarcity::~MemoryScarcity() {
  first = kNever;
  for_good = false;
}
std::int64_t MemoryScarcity::asked() const {
  return calls;
}
std::int64_t MemoryScarcity::refused() const {
  return refusals;
}

}  // namespace penstock::faults

// Every form, since a sanitizer's own would not recognise our blocks.
using Align = std::align_val_t;
using Quiet = const std::nothrow_t&;
void* operator new(std::size_t n) {
  return take_or_throw(n, kUsual);
}
void* operator new[](std::size_t n) {
  return take_or_throw(n, kUsual);
}
void* operator new(std::size_t n, Quiet) noexcept {
  return take(n, kUsual);
}
void* operator new[](std::size_t n, Quiet) noexcept {
  return take(n, kUsual);
}
void* operator new(std::size_t n, Align a) {
  return take_or_throw(n, number(a));
}
void* operator new[](std::size_t n, Align a) {
  return take_or_throw(n, number(a));
}
void* operator new(std::size_t n, Align a, Quiet) noexcept {
  return take(n, number(a));
}
void* operator new[](std::size_t n, Align a, Quiet) noexcept {
  return take(n, number(a));
}
void operator delete(void* p) noexcept {
  give_back(p);
}
void operator delete[](void* p) noexcept {
  give_back(p);
}
void operator delete(void* p, std::size_t) noexcept {
  give_back(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  give_back(p);
}
void operator delete(void* p, Quiet) noexcept {
  give_back(p);
}
void operator delete[](void* p, Quiet) noexcept {
  give_back(p);
}
void operator delete(void* p, Align) noexcept {
  give_back(p);
}
void operator delete[](void* p, Align) noexcept {
  give_back(p);
}
void operator delete(void* p, std::size_t, Align) noexcept {
  give_back(p);
}
void operator delete[](void* p, std::size_t, Align) noexcept {
  give_back(p);
}
void operator delete(void* p, Align, Quiet) noexcept {
  give_back(p);
}
void operator delete[](void* p, Align, Quiet) noexcept {
  give_back(p);
}
