#pragma once
// A trace as one picture: what every device did, and how full it was.

#include <optional>
#include <string>

#include "penstock/trace/trace.hpp"

namespace penstock::report {

struct TimelineStyle {
  int width = 1280;                   ///< of the picture, pixels; at least 900
  std::string title = {};             ///< heading; empty for none
  core::Picoseconds step{0};          ///< of abstract schedules: times are told as counts of this
  std::string items = "samples";      ///< what Trace::mini_batch counts
  std::optional<double> bubble = {};  ///< of abstract schedules: of the longest rank span, told instead of
                                      ///< the idle share of the iteration
};

/// A self-contained SVG on white: one lane per device with its computations, transfers and, where the trace
/// knows of any, memory over time.
/// Spans thinner than a pixel are pooled, so the file stays under a megabyte for 32 devices and any number of
/// spans. Colours after Okabe and Ito, "Color Universal Design" (2008).
std::string to_svg(const trace::Trace& trace, const TimelineStyle& style = {});

}  // namespace penstock::report
