#pragma once
// Spans of a trace to plant faults in.

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/trace/trace.hpp"

namespace penstock::support {

/// The number-th of its kind on, or from, a device.
inline trace::Span& span(trace::Trace& trace, trace::TaskKind kind, std::size_t device, int number = 0) {
  const auto found = std::find_if(trace.spans.begin(), trace.spans.end(), [&](const trace::Span& s) {
    return s.kind == kind && s.device == core::DeviceId(device) && number-- == 0;
  });
  REQUIRE(found != trace.spans.end());
  return *found;
}

inline void shift(trace::Span& span, std::int64_t time) {
  span.start += core::Picoseconds(time);
  span.end += core::Picoseconds(time);
}

}  // namespace penstock::support
