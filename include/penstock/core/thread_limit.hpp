#pragma once
// How many threads loops may take.

#include <memory>

namespace penstock::core {

/// Limits parallel loops of this process to `threads` (0: all cores) while it lives; of several the smallest
/// counts.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();

 private:
  struct Control;
  std::unique_ptr<Control> control_;
};

}  // namespace penstock::core
