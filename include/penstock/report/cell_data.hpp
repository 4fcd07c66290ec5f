#pragma once
// All that the page shows of one cell when its section is opened, as one piece of text.

#include <optional>
#include <string>
#include <vector>

#include "penstock/plan/stage_graph.hpp"
#include "penstock/trace/summary.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// A stretch of the critical path; without a device it is on the way between two.
struct PathPart {
  std::optional<core::DeviceId> device;
  std::string kind;  ///< "compute", "transfer", ...
  core::Picoseconds start, end;
};

/// What a resource contributes to the critical path.
struct PathShare {
  std::string name;
  core::Picoseconds time;
  double share = 0;                          ///< of the path
  std::optional<core::Picoseconds> without;  ///< iteration, were the resource infinitely fast
};

/// What devices spend an iteration on, in the mean.
struct TimeShare {
  std::string key, name;
  core::Picoseconds time;
};

struct CellData {
  plan::Plan plan;
  std::vector<std::string> operators;      ///< names, indexed by OpId
  std::vector<plan::Boundary> boundaries;  ///< of its stages
  trace::Trace trace;
  std::vector<PathPart> path;  ///< by time
  std::vector<PathShare> shares;
  std::vector<TimeShare> waterfall{};  ///< in order; the sum is the iteration
};

/// More spans than this have no place in a page.
inline constexpr std::size_t kMostSpansOfPage = 200'000;

/// Spans that a page draws of the trace: of devices that do alike, those of the first.
std::size_t drawn_spans(const trace::Trace& trace);

/// JSON (page/cell.js reads it), deflated (RFC 1950), in base64: no character in it means anything to HTML.
/// Requires drawn_spans() of at most kMostSpansOfPage.
std::string packed(const CellData& cell);

/// The JSON itself. Times are whole picoseconds, sizes bytes. A lane is one device, or several that compute,
/// send and hold the same at the same times, but for whom they send to. Computations and transfers are flat
/// lists of numbers in order of time, each start counted from the one before.
std::string to_json(const CellData& cell);

}  // namespace penstock::report
