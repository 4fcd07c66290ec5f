#include "rank_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "penstock/core/error.hpp"

namespace penstock::trace {
namespace {

/// ns: older profiles count microseconds since the epoch in doubles.
constexpr std::int64_t kClockRounding = 1000;

using PassKey = std::tuple<TaskKind, core::StageId, std::int32_t>;

PassKey key_of(const TimedPass& pass) {
  return {pass.kind, pass.stage, pass.micro_batch};
}

bool within(const HostInterval& inner, const HostInterval& outer) {
  return inner.start >= outer.start && inner.end <= outer.end;
}

std::string counted_passes(std::size_t count, TaskKind kind, core::StageId stage) {
  return fmt::format("{} {} pass{} of stage {}", count, name(kind), count == 1 ? "" : "es", stage.index());
}

/// Resolves the names of one profile by the plan's passes of its rank.
class PassResolver {
 public:
  PassResolver(const RankProfile& profile, const std::vector<Span>& planned)
      : profile_(profile), planned_(planned) {
    for (const Span& span : planned_) stages_.insert(span.stage);
  }

  TimedPass resolved(const AnnouncedPass& pass) {
    if (pass.micro_batch < 0) return next(pass);
    TimedPass out{pass.kind, core::StageId(0), pass.micro_batch, pass.time};
    if (pass.stage >= 0)
      out.stage = core::StageId(static_cast<std::size_t>(pass.stage));
    else if (stages_.size() == 1)
      out.stage = *stages_.begin();
    else
      fail(
          fmt::format("a {} pass without a stage in its name, but the rank has {} stages; annotate passes by "
                      "penstock.torch.name_passes",
                      name(pass.kind), stages_.size()));
    return out;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw core::BadInput({profile_.file, 0, ""}, message);
  }
  /// Reason for missing passes: torch names two under one name, which cannot be divided.
  std::string hint() const {
    if (profile_.paired.empty()) return "";
    return fmt::format("; '{}' has two, which penstock.torch.name_passes names one by one", profile_.paired);
  }

 private:
  /// The k-th pass of a kind in the plan's order.
  TimedPass next(const AnnouncedPass& pass) {
    std::size_t& taken = taken_[static_cast<std::size_t>(pass.kind)];
    std::size_t index = 0;
    for (const Span& span : planned_)
      if (span.kind == pass.kind && index++ == taken) {
        ++taken;
        return {span.kind, span.stage, span.micro_batch, pass.time};
      }
    fail(fmt::format("more than {} {} passes in the step, but the plan has {} on this rank", taken,
                     name(pass.kind), taken));
  }

  const RankProfile& profile_;
  const std::vector<Span>& planned_;
  std::set<core::StageId> stages_;
  std::array<std::size_t, kTaskKinds> taken_{};
};

/// Announcements in the window. One within another of its kind is the same pass, announced twice.
std::vector<AnnouncedPass> outermost(const RankProfile& profile, const HostInterval& window,
                                     const PassResolver& resolver) {
  std::vector<AnnouncedPass> out;
  for (const AnnouncedPass& pass : profile.passes) {
    if (pass.time.start < window.start || pass.time.start >= window.end) continue;
    if (!out.empty() && pass.time.start < out.back().time.end - kClockRounding) {
      if (pass.kind == out.back().kind && within(pass.time, out.back().time)) continue;
      resolver.fail(fmt::format(
          "a {} begins before the {} that began {:.3f} us earlier ends; passes of a rank cannot overlap",
          name(pass.kind), name(out.back().kind),
          static_cast<double>(pass.time.start - out.back().time.start) / 1000));
    }
    out.push_back(pass);
  }
  return out;
}

/// From the first start to the last end of what was launched during the announcement; none if nothing was.
std::optional<HostInterval> kernel_time(const RankProfile& profile, const HostInterval& announced) {
  std::optional<HostInterval> out;
  auto kernel = std::ranges::lower_bound(profile.kernels, announced.start, {}, &LaunchedKernel::launch);
  for (; kernel != profile.kernels.end() && kernel->launch < announced.end; ++kernel)
    out = out ? HostInterval{std::min(out->start, kernel->time.start), std::max(out->end, kernel->time.end)}
              : kernel->time;
  return out;
}

/// From the first start to the last end of operators within the announcement; none if there are none.
std::optional<HostInterval> operator_time(const RankProfile& profile, const HostInterval& announced) {
  std::optional<HostInterval> out;
  auto op = std::ranges::lower_bound(profile.operators, announced.start, {}, &HostInterval::start);
  for (; op != profile.operators.end() && op->start < announced.end; ++op)
    if (op->end <= announced.end + kClockRounding)
      out = out ? HostInterval{out->start, std::max(out->end, op->end)} : *op;
  return out;
}

/// Times passes by the best source that the profile has: kernels, operators, announcements.
class PassClock {
 public:
  PassClock(const RankProfile& profile, const std::vector<AnnouncedPass>& announced) : profile_(profile) {
    for (const AnnouncedPass& pass : announced) {
      by_kernels_ |= kernel_time(profile, pass.time).has_value();
      by_operators_ |= operator_time(profile, pass.time).has_value();
    }
  }
  bool by_kernels() const { return by_kernels_; }

  /// A pass that computes nothing, such as the weight gradients of a stage without weights, takes no time after the
  /// pass before it.
  HostInterval time(const HostInterval& announced) {
    if (!by_kernels_ && !by_operators_) return announced;
    const auto found = by_kernels_ ? kernel_time(profile_, announced) : operator_time(profile_, announced);
    if (!found) return {std::max(before_, announced.start), std::max(before_, announced.start)};
    before_ = found->end;
    return *found;
  }

 private:
  const RankProfile& profile_;
  bool by_kernels_ = false, by_operators_ = false;
  std::int64_t before_ = std::numeric_limits<std::int64_t>::min();  ///< end of the pass before
};

/// Throws where the profile has other passes than the plan: by their numbers, else the first that differs.
void check_passes(const std::vector<TimedPass>& found, const std::vector<Span>& planned,
                  const PassResolver& resolver) {
  std::map<std::pair<core::StageId, TaskKind>, std::pair<std::size_t, std::size_t>> counts;  // found, planned
  std::set<PassKey> keys, wanted;
  for (const TimedPass& pass : found) {
    if (!keys.insert(key_of(pass)).second)
      resolver.fail(
          fmt::format("the {} occurs twice in the step; a profile of several iterations needs prof.step() "
                      "after each",
                      pass_words(pass.kind, pass.stage, pass.micro_batch)));
    ++counts[{pass.stage, pass.kind}].first;
  }
  for (const Span& span : planned) {
    wanted.insert({span.kind, span.stage, span.micro_batch});
    ++counts[{span.stage, span.kind}].second;
  }
  for (const auto& [of, count] : counts)
    if (count.first != count.second)
      resolver.fail(fmt::format("{} in the step, but the plan has {} on this rank{}",
                                counted_passes(count.first, of.second, of.first), count.second,
                                resolver.hint()));
  for (const TimedPass& pass : found)
    if (!wanted.contains(key_of(pass)))
      resolver.fail(fmt::format("a {}, which the plan does not have on this rank",
                                pass_words(pass.kind, pass.stage, pass.micro_batch)));
}

}  // namespace

std::string pass_words(TaskKind kind, core::StageId stage, std::int32_t micro_batch) {
  return fmt::format("{} of micro-batch {} on stage {}", name(kind), micro_batch, stage.index());
}

RankPasses rank_passes(const RankProfile& profile, const HostInterval& window,
                       const std::vector<Span>& planned) {
  PassResolver resolver(profile, planned);
  const std::vector<AnnouncedPass> announced = outermost(profile, window, resolver);
  PassClock clock(profile, announced);
  RankPasses out;
  out.on_gpu = clock.by_kernels();
  for (const AnnouncedPass& pass : announced) {
    const HostInterval time = clock.time(pass.time);
    if (pass.kind == TaskKind::step) {
      out.steps.push_back(time);
      continue;
    }
    out.passes.push_back(resolver.resolved(pass));
    out.passes.back().time = time;
  }
  if (out.passes.empty())
    resolver.fail(
        "no forward or backward pass in the step; annotate passes by penstock.torch.name_passes, or name the functions by "
        "--forward and --backward" +
        resolver.hint());
  check_passes(out.passes, planned, resolver);
  return out;
}

}  // namespace penstock::trace
