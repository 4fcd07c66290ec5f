#pragma once
// The system's file calls, as a test wants them: this executable's open, read, write and so on count, and
// fail on request.

#include <cstdint>

namespace penstock::faults {

/// Effect of the chosen call.
enum class CallMishap {
  fails,       ///< returns the error; a file is closed all the same
  interrupts,  ///< returns EINTR, once; what may not be called again works (close, rename, mkdir)
  shortens,    ///< reads and writes one byte, this call and all after it
};

/// While it lives, the `first`-th file call from now meets the mishap, counted from 1 over all threads;
/// `for_good`: all after it do so too.
class FileTrouble {
 public:
  FileTrouble(CallMishap mishap, std::int64_t first, int error = 0, bool for_good = false);
  ~FileTrouble();
  FileTrouble(const FileTrouble&) = delete;
  FileTrouble& operator=(const FileTrouble&) = delete;

  std::int64_t asked() const;  ///< calls since construction
};

}  // namespace penstock::faults
