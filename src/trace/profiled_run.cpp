#include "penstock/trace/profiled_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "penstock/core/error.hpp"
#include "rank_passes.hpp"

namespace penstock::trace {
namespace {

using core::Picoseconds;

constexpr std::int64_t kPicoseconds = 1000;  ///< of a nanosecond

bool in_order(const Span& a, const Span& b) {
  const auto key = [](const Span& s) {
    return std::tuple(s.start, s.device, s.kind, s.stage, s.micro_batch);
  };
  return key(a) < key(b);
}

/// Makes a recomputation part of the backward pass that follows it, as torch runs both.
void fold_recomputation(std::vector<Span>& spans) {
  std::map<std::tuple<core::DeviceId, core::StageId, std::int32_t>, Picoseconds> begun;
  for (const Span& span : spans)
    if (span.kind == TaskKind::recompute) begun[{span.device, span.stage, span.micro_batch}] = span.start;
  if (begun.empty()) return;
  for (Span& span : spans)
    if (span.kind == TaskKind::backward || span.kind == TaskKind::input_gradient)
      if (const auto found = begun.find({span.device, span.stage, span.micro_batch}); found != begun.end())
        span.start = found->second;
  std::erase_if(spans, [](const Span& span) { return span.kind == TaskKind::recompute; });
}

/// The part of a simulated trace that the profiles can show, from its first task on.
Trace recorded_part(const Trace& simulated, const std::set<core::DeviceId>& recorded, bool whole) {
  Trace out = simulated;
  std::erase_if(out.spans,
                [&](const Span& s) { return !recorded.contains(s.device) && !recorded.contains(s.peer); });
  fold_recomputation(out.spans);
  std::ranges::sort(out.spans, in_order);
  for (std::size_t d = 0; d < out.devices.size(); ++d)
    if (!recorded.contains(core::DeviceId(d))) out.devices[d] = {};
  if (whole) return out;
  Picoseconds first(INT64_MAX), last(0);
  for (const Span& span : out.spans)
    if (computes(span.kind)) first = std::min(first, span.start), last = std::max(last, span.end);
  std::erase_if(out.spans,
                [&](const Span& s) { return !computes(s.kind) && (s.start < first || s.end > last); });
  for (Span& span : out.spans) span.start -= first, span.end -= first;
  out.iteration = last - first;
  return out;
}

std::set<std::int64_t> step_numbers(const RankProfile& profile) {
  std::set<std::int64_t> out;
  for (const ProfiledStep& step : profile.steps) out.insert(step.number);
  return out;
}

/// The wanted step, or the last one of all profiles.
std::optional<std::int64_t> chosen_step(const std::vector<RankProfile>& profiles,
                                        std::optional<std::int64_t> wanted) {
  std::set<std::int64_t> common = step_numbers(profiles.front());
  for (const RankProfile& profile : profiles) {
    const auto own = step_numbers(profile);
    if (own.empty() != profiles.front().steps.empty())
      throw core::BadInput({profile.file, 0, ""},
                           fmt::format("{} ProfilerStep, unlike {}; record all ranks the same way",
                                       own.empty() ? "has no" : "has a", profiles.front().file));
    std::erase_if(common, [&](std::int64_t number) { return !own.contains(number); });
  }
  if (profiles.front().steps.empty()) {
    if (wanted)
      throw core::BadInput({profiles.front().file, 0, ""}, "has no ProfilerStep, so no step can be chosen");
    return std::nullopt;
  }
  if (common.empty())
    throw core::BadInput({profiles.front().file, 0, ""}, "the profiles have no step in common");
  if (wanted && !common.contains(*wanted))
    throw core::BadInput({profiles.front().file, 0, ""},
                         fmt::format("no step {}; the profiles have {}", *wanted, fmt::join(common, ", ")));
  return wanted ? wanted : *common.rbegin();
}

/// Time of the step in one profile; all time if there are no steps.
HostInterval window_of(const RankProfile& profile, const std::optional<std::int64_t>& step) {
  if (!step) return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  const HostInterval time = std::ranges::find(profile.steps, *step, &ProfiledStep::number)->time;
  const double hours = static_cast<double>(time.end - time.start) / 3.6e12;
  if (hours > kLongestStep.value() / 3600)
    throw core::BadInput(
        {profile.file, 0, ""},
        fmt::format("step {} takes {:.1f} hours; times must be in microseconds", *step, hours));
  return time;
}

/// Union of intervals, in nanoseconds.
std::int64_t covered(std::vector<HostInterval> all) {
  std::ranges::sort(all, {}, &HostInterval::start);
  std::int64_t out = 0, until = std::numeric_limits<std::int64_t>::min();
  for (const HostInterval& each : all) {
    if (each.end > until) out += each.end - std::max(each.start, until);
    until = std::max(until, each.end);
  }
  return out;
}

/// Zero of each profile's clock, in nanoseconds: 0 for ranks of one host, else the first start of the host's steps.
std::vector<std::int64_t> clock_zeros(const std::vector<RankProfile>& profiles,
                                      const std::vector<HostInterval>& windows, bool steps,
                                      std::vector<std::string>& notes) {
  std::map<std::string, std::int64_t> hosts;
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    const auto [host, fresh] = hosts.emplace(profiles[p].host, windows[p].start);
    if (!fresh) host->second = std::min(host->second, windows[p].start);
  }
  std::vector<std::int64_t> out(profiles.size(), 0);
  if (hosts.size() == 1) {
    if (profiles.size() > 1 && hosts.begin()->first.empty())
      notes.push_back("the profiles name no host: their clocks are taken as one");
    return out;
  }
  if (!steps)
    throw core::BadInput(
        {profiles.front().file, 0, ""},
        fmt::format("the profiles are of {} hosts, whose clocks differ, and have no ProfilerStep at which to "
                    "align them; call prof.step() after each iteration",
                    hosts.size()));
  for (std::size_t p = 0; p < profiles.size(); ++p) out[p] = hosts.at(profiles[p].host);
  notes.push_back(fmt::format(
      "clocks of {} hosts are aligned at the start of the step: compare starts within a host only",
      hosts.size()));
  return out;
}

/// Puts the passes of all ranks on one clock and compares them with the plan's.
class ProfileMatcher {
 public:
  ProfileMatcher(const std::vector<RankProfile>& profiles, const Trace& simulated,
                 std::optional<std::int64_t> wanted)
      : profiles_(profiles) {
    for (const RankProfile& profile : profiles_) add_device(profile, simulated);
    for (std::size_t d = 0; d < simulated.devices.size(); ++d)
      if (!simulated.devices[d].stages.empty() && !recorded_.contains(core::DeviceId(d)))
        missing_.push_back(d);
    out_.step = chosen_step(profiles_, wanted);
    out_.whole = missing_.empty();
    out_.simulated = recorded_part(simulated, recorded_, out_.whole);
  }

  ProfiledRun matched() {
    if (!missing_.empty())
      out_.notes.push_back(
          fmt::format("no profile of rank {}: iteration times are those of the recorded ranks",
                      fmt::join(missing_, ", ")));
    for (const RankProfile& profile : profiles_) windows_.push_back(window_of(profile, out_.step));
    zeros_ = clock_zeros(profiles_, windows_, out_.step.has_value(), out_.notes);
    for (std::size_t p = 0; p < profiles_.size(); ++p) read_passes(p);
    find_extent();
    build_trace();
    for (std::size_t p = 0; p < profiles_.size(); ++p) add_times(p);
    std::ranges::sort(out_.ranks, {}, &RankTimes::device);
    return std::move(out_);
  }

 private:
  void add_device(const RankProfile& profile, const Trace& simulated) {
    const auto fail = [&](const std::string& message) {
      throw core::BadInput({profile.file, 0, ""}, message);
    };
    if (!profile.rank) fail("names no rank (distributedInfo); give it as RANK=FILE");
    if (*profile.rank < 0 || *profile.rank >= std::ssize(simulated.devices) ||
        simulated.devices[static_cast<std::size_t>(*profile.rank)].stages.empty())
      fail(
          fmt::format("is of rank {}, but the plan has no stage on device {}", *profile.rank, *profile.rank));
    devices_.push_back(core::DeviceId(static_cast<std::size_t>(*profile.rank)));
    if (!recorded_.insert(devices_.back()).second)
      fail(fmt::format("is a second profile of rank {}", *profile.rank));
  }

  std::vector<Span> planned(core::DeviceId device, bool steps) const {
    std::vector<Span> out;
    for (const Span& span : out_.simulated.spans)
      if (span.device == device && computes(span.kind) && (span.kind == TaskKind::step) == steps)
        out.push_back(span);
    std::ranges::stable_sort(out, {}, [](const Span& span) { return std::pair(span.start, span.end); });
    return out;
  }

  void read_passes(std::size_t p) {
    const std::vector<Span> plan = planned(devices_[p], false);
    ranks_.push_back(rank_passes(profiles_[p], windows_[p], plan));
    const auto& found = ranks_.back().passes;
    std::vector<std::size_t> order(found.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return found[i].time.start; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const TimedPass& pass = found[order[i]];
      if (pass.kind == plan[i].kind && pass.stage == plan[i].stage && pass.micro_batch == plan[i].micro_batch)
        continue;
      out_.notes.push_back(
          fmt::format("rank {} runs the {} where the plan has the {}: the run had another order",
                      devices_[p].index(), pass_words(pass.kind, pass.stage, pass.micro_batch),
                      pass_words(plan[i].kind, plan[i].stage, plan[i].micro_batch)));
      break;
    }
  }

  /// [begin, end) of the iteration, after subtraction of clock zeros.
  void find_extent() {
    extent_ = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    for (std::size_t p = 0; p < ranks_.size(); ++p)
      for (const HostInterval& time : busy(p))
        extent_ = {std::min(extent_.start, time.start - zeros_[p]),
                   std::max(extent_.end, time.end - zeros_[p])};
    const double hours = static_cast<double>(extent_.end - extent_.start) / 3.6e12;
    if (hours > kLongestStep.value() / 3600)
      throw core::BadInput(
          {profiles_.front().file, 0, ""},
          fmt::format("the passes of all ranks take {:.1f} hours; are they of one run?", hours));
  }

  std::vector<HostInterval> busy(std::size_t p) const {
    std::vector<HostInterval> out = ranks_[p].steps;
    for (const TimedPass& pass : ranks_[p].passes) out.push_back(pass.time);
    return out;
  }

  Picoseconds on_clock(std::size_t p, std::int64_t time) const {
    return Picoseconds((time - zeros_[p] - extent_.start) * kPicoseconds);
  }

  void build_trace() {
    Trace& measured = out_.measured;
    measured.mini_batch = out_.simulated.mini_batch;
    measured.iteration = Picoseconds((extent_.end - extent_.start) * kPicoseconds);
    measured.devices.resize(out_.simulated.devices.size());
    for (std::size_t p = 0; p < ranks_.size(); ++p) {
      measured.devices[devices_[p].index()].stages = out_.simulated.devices[devices_[p].index()].stages;
      for (const TimedPass& pass : ranks_[p].passes) {
        Span span;
        span.kind = pass.kind, span.device = devices_[p], span.stage = pass.stage,
        span.micro_batch = pass.micro_batch;
        span.start = on_clock(p, pass.time.start), span.end = on_clock(p, pass.time.end);
        measured.spans.push_back(span);
      }
      add_steps(p);
    }
    std::ranges::sort(measured.spans, in_order);
  }

  /// A profile has one step for all stages of its rank: each gets its simulated share of the time.
  void add_steps(std::size_t p) {
    std::vector<Span> steps = planned(devices_[p], true);
    const std::size_t rank = devices_[p].index();
    if (steps.empty()) return;
    if (ranks_[p].steps.empty()) {
      out_.notes.push_back(
          fmt::format("the profile of rank {} has no optimizer step: it counts as no time", rank));
      return;
    }
    HostInterval time = ranks_[p].steps.front();
    for (const HostInterval& each : ranks_[p].steps)
      time = {std::min(time.start, each.start), std::max(time.end, each.end)};
    Picoseconds total, done;
    for (const Span& step : steps) total += step.end - step.start;
    const Picoseconds start = on_clock(p, time.start), length = on_clock(p, time.end) - start;
    for (Span& step : steps) {
      const double before = total.value() > 0 ? done / total : 0;
      done += step.end - step.start;
      const double until = total.value() > 0 ? done / total : 1;
      const auto part = [&](double share) {
        return start + Picoseconds(static_cast<std::int64_t>(static_cast<double>(length.value()) * share));
      };
      step.start = part(before), step.end = part(until);
      out_.measured.spans.push_back(step);
    }
    if (steps.size() > 1)
      out_.notes.push_back(
          fmt::format("rank {} has one optimizer step for {} stages: each is given its simulated share", rank,
                      steps.size()));
  }

  void add_times(std::size_t p) {
    constexpr double kSecond = 1e-9;
    RankTimes times;
    times.device = devices_[p];
    times.on_gpu = ranks_[p].on_gpu;
    std::vector<HostInterval> work = busy(p), simulated;
    const double measured = static_cast<double>(covered(work)) * kSecond;
    for (const HostInterval& wait : times.on_gpu ? profiles_[p].gpu_waits : profiles_[p].host_waits) {
      const HostInterval inside{std::max(wait.start, extent_.start + zeros_[p]),
                                std::min(wait.end, extent_.end + zeros_[p])};
      if (inside.end > inside.start) work.push_back(inside);
    }
    times.awaited = static_cast<double>(covered(work)) * kSecond - measured;
    for (const Span& span : out_.simulated.spans)
      if (span.device == times.device && computes(span.kind))
        simulated.push_back({span.start.value(), span.end.value()});
    times.compute = {measured, to_seconds(Picoseconds(covered(simulated))).value()};
    times.idle = {to_seconds(out_.measured.iteration).value() - times.compute.measured,
                  to_seconds(out_.simulated.iteration).value() - times.compute.simulated};
    out_.ranks.push_back(times);
  }

  const std::vector<RankProfile>& profiles_;
  std::vector<core::DeviceId> devices_;  ///< [profile]
  std::set<core::DeviceId> recorded_;
  std::vector<std::size_t> missing_;  ///< devices of the plan without a profile
  std::vector<HostInterval> windows_;
  std::vector<std::int64_t> zeros_;
  std::vector<RankPasses> ranks_;
  HostInterval extent_;
  ProfiledRun out_;
};

}  // namespace

ProfiledRun match_profiles(const std::vector<RankProfile>& profiles, const Trace& simulated,
                           std::optional<std::int64_t> step) {
  core::require(!profiles.empty(), "a run has profiles");
  if (simulated.mini_batches > 1)
    throw core::BadInput("the plan runs mini-batches without a flush, so that a step is no iteration of it");
  return ProfileMatcher(profiles, simulated, step).matched();
}

}  // namespace penstock::trace
