#pragma once
// The program's memory, as a test wants it: this executable's operator new counts, and refuses on request.

#include <cstdint>

namespace penstock::faults {

/// Blocks that are not given back yet, over all threads.
std::int64_t live_blocks();

/// While it lives, the `first`-th allocation from now fails with std::bad_alloc, counted from 1 over all
/// threads; `for_good`: all after it do so too.
class MemoryScarcity {
 public:
  MemoryScarcity(std::int64_t first, bool for_good);
  ~MemoryScarcity();
  MemoryScarcity(const MemoryScarcity&) = delete;
  MemoryScarcity& operator=(const MemoryScarcity&) = delete;

  std::int64_t asked() const;    ///< allocations since construction
  std::int64_t refused() const;  ///< of these
};

}  // namespace penstock::faults
