#pragma once
// The most memory this process held since some moment.

#include <cstdint>
#include <optional>

namespace penstock::cli {

/// Asks the Linux kernel (proc(5): clear_refs resets the high-water mark VmHWM of the resident size). Counts
/// everything the process holds, what was there before included, so it says something of one piece of work
/// only while no other runs.
class PeakMemory {
 public:
  PeakMemory();  ///< begins anew
  /// Nothing where the kernel does not tell.
  std::optional<std::int64_t> bytes() const;

 private:
  bool reset_ = false;
};

}  // namespace penstock::cli
