#include "penstock/core/stop.hpp"

#include <algorithm>

namespace penstock::core {

StopToken StopToken::within(Seconds limit) const {
  constexpr Seconds kAges(1e9);  // upper bound, because the clock counts nanoseconds in 64 bits
  StopToken out = *this;
  const std::chrono::duration<double> time(std::clamp(limit, Seconds(0), kAges).value());
  out.deadline_ = std::min(deadline_, Clock::now() + std::chrono::duration_cast<Clock::duration>(time));
  return out;
}

StopToken StopToken::until_full(const std::atomic<bool>& full) const {
  StopToken out = *this;
  out.full_ = &full;
  return out;
}

StopToken StopToken::until_ended(const std::atomic<bool>& ended) const {
  StopToken out = *this;
  out.ended_ = &ended;
  return out;
}

void StopToken::give_up() const {
  if (ended()) throw SearchEnded();
  if (memory_full()) throw MemoryFull();
  throw TimedOut();
}

}  // namespace penstock::core
