// A profile of any bytes is read or refused. An accepted one is sorted, and matches a plan of two passes or is refused.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/trace/profiled_run.hpp"

using namespace penstock;

namespace {

/// A forward and a backward pass on one device.
trace::Trace two_passes() {
  trace::Trace out;
  out.mini_batch = 1;
  out.iteration = core::Picoseconds(3'000'000);
  trace::Span forward, backward;
  forward.device = backward.device = core::DeviceId(0);
  forward.stage = backward.stage = core::StageId(0);
  forward.micro_batch = backward.micro_batch = 0;
  backward.kind = trace::TaskKind::backward;
  forward.end = backward.start = core::Picoseconds(1'000'000);
  backward.end = out.iteration;
  out.spans = {forward, backward};
  out.devices.resize(1);
  out.devices[0].stages = {core::StageId(0)};
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const trace::RankProfile profile = trace::parse_rank_profile(text, "fuzz");
    core::require(std::ranges::is_sorted(profile.operators, {}, &trace::HostInterval::start),
                  "operators are sorted");
    const trace::ProfiledRun run = trace::match_profiles({profile}, two_passes());
    core::require(run.measured.spans.size() == 2, "every pass of the plan is there once");
    core::require(run.measured.iteration.value() >= 0, "time does not run backwards");
    for (const trace::Span& span : run.measured.spans)
      core::require(span.end >= span.start, "no pass ends before it starts");
  } catch (const core::BadInput&) {
    return 0;
  }
  return 0;
}
