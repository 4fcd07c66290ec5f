#pragma once
// A trace as one picture: the activity of every device, and its memory.

#include <optional>
#include <string>
#include <vector>

#include "penstock/trace/trace.hpp"

namespace penstock::report {

struct TimelineStyle {
  int width = 1280;               ///< width of the picture in pixels; at least 900
  std::string title = {};         ///< heading; empty for none
  core::Picoseconds step{0};      ///< unit step of abstract schedules: times are given in these steps
  std::string items = "samples";  ///< unit of Trace::mini_batch
  /// For abstract schedules: bubble of the longest rank span, shown instead of the idle share of the
  /// iteration.
  std::optional<double> bubble = {};
  std::vector<std::string> names = {};  ///< [device] name of its lane; empty: "device 3"
  std::optional<std::string> summary =
      {};  ///< line below the heading; none: iteration time, bubble, peak memory
};

/// A self-contained SVG on white: one lane per device with its computations, transfers and, if the trace has
/// any, memory over time. Spans thinner than a pixel are merged, so the file stays under a megabyte for 32
/// devices and any number of spans. Colours after Okabe and Ito, "Color Universal Design" (2008).
std::string to_svg(const trace::Trace& trace, const TimelineStyle& style = {});

}  // namespace penstock::report
