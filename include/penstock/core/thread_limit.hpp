#pragma once
// Limit on the number of threads of parallel loops.

#include <memory>

namespace penstock::core {

/// Limits parallel loops of this process to `threads` (0: all cores) during its lifetime; the smallest of
/// several limits applies.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();

 private:
  struct Control;
  std::unique_ptr<Control> control_;
};

}  // namespace penstock::core
