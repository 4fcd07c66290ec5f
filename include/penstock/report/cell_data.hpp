#pragma once
// Content of one cell's section on the page, as one piece of text.

#include <optional>
#include <string>
#include <vector>

#include "penstock/plan/stage_graph.hpp"
#include "penstock/trace/summary.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::report {

/// A part of the critical path; without a device it is a transfer between two.
struct PathPart {
  std::optional<core::DeviceId> device;
  std::string kind;  ///< "compute", "transfer", ...
  core::Picoseconds start, end;
};

/// Contribution of a resource to the critical path.
struct PathShare {
  std::string name;
  core::Picoseconds time;
  double share = 0;                          ///< share of the path
  std::optional<core::Picoseconds> without;  ///< iteration time with the resource infinitely fast
};

/// Mean time of devices in one part of an iteration.
struct TimeShare {
  std::string key, name;
  core::Picoseconds time;
};

struct CellData {
  plan::Plan plan;
  std::vector<std::string> operators;           ///< [OpId] name
  std::vector<plan::StageBoundary> boundaries;  ///< of its stages
  trace::Trace trace;
  std::vector<PathPart> path;  ///< sorted by time
  std::vector<PathShare> shares;
  std::vector<TimeShare> waterfall{};  ///< in order; the sum is the iteration
};

/// Maximum number of spans in a page.
inline constexpr std::size_t kMostSpansOfPage = 200'000;

/// Number of spans that a page draws of the trace: of equal devices only the first is drawn.
std::size_t drawn_spans(const trace::Trace& trace);

/// JSON (read by page/cell.js), deflated (RFC 1950), in base64, so that no character has a meaning in HTML.
/// Precondition: drawn_spans() is at most kMostSpansOfPage.
std::string packed(const CellData& cell);

/// The JSON itself. Times are whole picoseconds, sizes bytes. A lane is one device, or several with equal
/// computations, transfers (except for their targets) and memory over time. Computations and transfers are
/// flat lists of numbers in order of time, each start relative to the one before.
std::string to_json(const CellData& cell);

}  // namespace penstock::report
