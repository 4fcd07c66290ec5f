#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comparison_parts.hpp"
#include "penstock/report/profiled_run.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "profiled_words.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

/// Devices 2i and 2i + 1 of the result: the i-th recorded rank, measured and simulated. The trace has no iteration time,
/// which both runs would share: lanes then state no share of it.
struct LanePairs {
  trace::Trace trace;
  std::vector<std::string> names;
};

LanePairs lane_pairs(const trace::ProfiledRun& run) {
  LanePairs out;
  std::vector<std::size_t> place(run.simulated.devices.size(), 0);
  out.trace.mini_batch = run.measured.mini_batch;
  for (const trace::RankTimes& rank : run.ranks) {
    place[rank.device.index()] = out.names.size();
    trace::DeviceTrace lane;
    lane.stages = run.simulated.devices[rank.device.index()].stages;
    out.trace.devices.insert(out.trace.devices.end(), 2, lane);
    out.names.push_back(fmt::format("{} measured", rank.device.index()));
    out.names.push_back(fmt::format("{} simulated", rank.device.index()));
  }
  const auto add = [&](const std::vector<trace::Span>& spans, std::size_t lane) {
    for (trace::Span span : spans) {
      const bool drawn = !run.simulated.devices[span.device.index()].stages.empty() &&
                         (!span.peer.valid() || !run.simulated.devices[span.peer.index()].stages.empty());
      if (!drawn) continue;
      span.device = core::DeviceId(place[span.device.index()] + lane);
      if (span.peer.valid()) span.peer = core::DeviceId(place[span.peer.index()] + lane);
      out.trace.spans.push_back(span);
    }
  };
  add(run.measured.spans, 0);
  add(run.simulated.spans, 1);
  std::ranges::stable_sort(out.trace.spans, {}, &trace::Span::start);
  return out;
}

}  // namespace

std::string profiled_title(const ProfiledPlan& found) {
  return fmt::format("{}, {}", found.plan,
                     found.run.step ? fmt::format("step {}", *found.run.step) : "one iteration");
}

std::string profiled_times(const ProfiledPlan& found) {
  const trace::QuantityPair& time = found.comparison.iteration;
  return fmt::format("{} measured, {} simulated: {}", shown::time(time.measured), shown::time(time.simulated),
                     error_text(time));
}

std::string profiled_svg(const ProfiledPlan& found) {
  const LanePairs pairs = lane_pairs(found.run);
  TimelineStyle style;
  style.title = profiled_title(found);
  style.names = pairs.names;
  style.summary = profiled_times(found);
  return to_svg(pairs.trace, style);
}

}  // namespace penstock::report
