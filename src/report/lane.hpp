#pragma once
// Visible part of one device's activity at a given width. Private to the room.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/trace/trace.hpp"
#include "svg.hpp"

namespace penstock::report {

enum class SpanPaint : std::uint8_t {
  forward,
  recompute,
  backward,
  input_gradient,
  weight_gradient,
  step,
  all_reduce,
  sent,
  received
};
inline constexpr std::size_t kPaints = 9;

/// A rectangle from `x` to `end`; `micro_batch` is -1 if it represents several spans.
struct SpanBox {
  SpanPaint paint = SpanPaint::forward;
  Tenths x = 0, end = 0;
  std::int32_t micro_batch = -1;
  bool later = false;  ///< of a stage other than its device's first
};

/// A number or a range ("3-7") centred at `x`.
struct BoxLabel {
  SpanPaint paint;
  Tenths x;
  std::string text;
};

/// The memory level from `x` on.
struct MemoryLevel {
  Tenths x;
  core::Bytes bytes;
};

struct DeviceLane {
  std::vector<SpanBox> boxes;  ///< sorted by time within each paint
  std::vector<BoxLabel> labels;
  std::vector<MemoryLevel> memory;
};

/// One lane per device. Within two pixels, spans thinner than a pixel become one box per paint with the same
/// total width, and memory becomes its maximum. Area and peak are kept, detail is not.
std::vector<DeviceLane> lanes(const trace::Trace& trace, const LineScale& time);

}  // namespace penstock::report
