#pragma once
// A request to stop, carried by value through long work; nothing polls a global.

#include <atomic>

#include "penstock/core/error.hpp"

namespace penstock::core {

/// Refers to a flag owned by the caller (the command line sets it on Ctrl-C). Default: never stops.
class StopToken {
 public:
  StopToken() = default;
  explicit StopToken(const std::atomic<bool>* flag) : flag_(flag) {}
  bool requested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  /// Throws Interrupted when a stop was requested.
  void check() const {
    if (requested()) throw Interrupted();
  }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace penstock::core
