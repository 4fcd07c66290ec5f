#include "penstock/experiment/timed_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/schedule/lowering.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "penstock/sim/schedule_trace.hpp"

namespace penstock::experiment {
namespace {

using core::Picoseconds;
using schedule::PassCosts;
using schedule::Schedule;

constexpr double kMostSteps = 1e6;

/// A time as given: in unit steps, or with a unit.
struct GivenTime {
  Picoseconds value;
  bool steps = true;
};

GivenTime parse_time(const std::string& flag, const std::string& text) {
  double steps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (error == std::errc() && end == text.data() + text.size() && steps >= 0 && steps <= kMostSteps)
    return {Picoseconds(std::llround(steps * static_cast<double>(schedule::kUnitStep.value()))), true};
  if (const auto seconds = core::parse_seconds(text); seconds && seconds->value() <= kMostSteps)
    return {to_picoseconds(*seconds), false};
  throw core::BadInput(fmt::format(
      "{} {}: expected unit steps such as 1.5, or a time such as 18ms, up to 10^6 steps or seconds", flag,
      text));
}

/// Times of a full stage. A missing time equals the one before it; the latency defaults to zero.
std::pair<PassCosts, TimeStyle> full_stage(const ScheduleRequest& asked) {
  PassCosts costs;
  int given = 0, steps = 0;
  const auto read = [&](const char* flag, const std::string& text, Picoseconds otherwise) {
    if (text.empty()) return otherwise;
    const GivenTime time = parse_time(flag, text);
    ++given;
    steps += time.steps;
    return time.value;
  };
  costs.forward = read("--forward", asked.forward, schedule::kUnitStep);
  costs.input_gradient = read("--backward-input", asked.input_gradient, costs.forward);
  costs.weight_gradient = read("--backward-weight", asked.weight_gradient, costs.input_gradient);
  costs.delay = read("--latency", asked.latency, Picoseconds(0));
  if (!asked.recompute.empty()) costs.recompute = read("--recompute", asked.recompute, {});
  costs.step = read("--step", asked.step, Picoseconds(0));
  const bool mixed = steps != 0 && steps != given;
  if (mixed || (steps != given && asked.forward.empty()))
    throw core::BadInput("times: give all with units, --forward among them, or all in unit steps");
  return {costs, TimeStyle{steps == given}};
}

bool is_file(const ScheduleRequest& asked) {
  return asked.text || asked.name.find_first_of("./") != std::string::npos;
}

void check_file_shape(const ScheduleRequest& asked, const Schedule& schedule) {
  const auto check = [&](const char* flag, int given, double found) {
    if (given > 0 && given != found)
      throw core::BadInput(fmt::format("{}: {} {}, but the file has {}", asked.name, flag, given, found));
  };
  check("--ranks", asked.shape.ranks, static_cast<double>(schedule.ranks.size()));
  check("--chunks", asked.shape.chunks, schedule.chunks());
}

Schedule load(const ScheduleRequest& asked) {
  if (asked.shape.group > 0) throw core::BadInput(asked.name + ": --group is for families, not for files");
  Schedule schedule =
      asked.text ? schedule::parse_schedule(*asked.text, asked.name) : schedule::load_schedule(asked.name);
  check_file_shape(asked, schedule);
  const int count = asked.shape.micro_batches > 0 ? asked.shape.micro_batches : micro_batches(schedule);
  const auto violations = schedule::schedule_violations(schedule, count);
  if (violations.empty()) return schedule;
  std::string message = asked.name + ": the schedule is not valid";
  for (const std::string& violation : violations) message += "\n  " + violation;
  throw core::Error(core::ExitCode::invalid_plan, message);
}

Schedule make(const ScheduleRequest& asked, const PassCosts& full) {
  schedule::ScheduleShape shape = asked.shape;
  const int chunks = shape.chunks > 0 ? shape.chunks : schedule::family_named(asked.name).chunks;
  if (shape.ranks == 0 || shape.micro_batches == 0)
    throw core::BadInput(asked.name + ": --ranks and --microbatches are needed");
  const auto share = [&](Picoseconds time) { return Picoseconds(time.value() / std::max(1, chunks)); };
  shape.costs = {
      share(full.forward), share(full.input_gradient), share(full.weight_gradient), full.delay, {}, {}};
  return schedule::make_schedule(asked.name, shape);
}

/// Lowers a schedule to the actions that torch.distributed.pipelining (2.15) executes, in its order. It joins
/// no I and W.
Schedule lowered(const Schedule& schedule) {
  for (const schedule::RankOrder& row : schedule.ranks)
    for (const schedule::Action& action : row)
      if (action.kind >= schedule::ActionKind::send_forward &&
          action.kind <= schedule::ActionKind::reduce_gradient)
        throw core::BadInput(
            fmt::format("--lower: the schedule is already lowered, it has {}", token(action)));
  return add_messages(add_reductions(add_unshards(schedule)));
}

/// Throws if a time is given for passes that the schedule does not have.
void check_used(const char* flag, const std::string& given, schedule::ActionKind kind,
                const Schedule& schedule) {
  if (given.empty()) return;
  for (const schedule::RankOrder& row : schedule.ranks)
    for (const schedule::Action& action : row)
      if (action.kind == kind) return;
  throw core::BadInput(fmt::format("{} {}: the schedule has no such pass", flag, given));
}

Schedule schedule_of(const ScheduleRequest& asked, const PassCosts& full) {
  const Schedule schedule = is_file(asked) ? load(asked) : make(asked, full);
  check_used("--recompute", asked.recompute, schedule::ActionKind::recompute, schedule);
  check_used("--step", asked.step, schedule::ActionKind::step, schedule);
  return asked.lower ? lowered(schedule) : schedule;
}

void check_memory(const ScheduleRequest& asked, const Schedule& schedule, const sim::ScheduleTimes& result) {
  for (std::size_t r = 0; r < schedule.ranks.size() && asked.shape.memory_limit; ++r)
    if (const double peak = result.peak_live[r] / schedule.chunks(); peak > *asked.shape.memory_limit)
      throw core::Infeasible(
          fmt::format("rank {} holds {:.4g} full-stage activations, --memory-limit allows {}", r, peak,
                      *asked.shape.memory_limit));
}

}  // namespace

TimedSchedule timed_schedule(const ScheduleRequest& asked) {
  const auto [full, style] = full_stage(asked);
  Schedule schedule = schedule_of(asked, full);
  const PassCosts costs = sim::per_chunk(full, schedule);
  sim::ScheduleTimes times = sim::simulate_schedule(schedule, costs);
  check_memory(asked, schedule, times);
  const auto& policy =
      schedule::weight_policy(is_file(asked) ? "flush" : schedule::family_named(asked.name).weights);
  auto weights = weight_versions(schedule.ranks, policy, micro_batches_per_update(policy, asked.shape));
  return {std::move(schedule), costs, std::move(times), style, policy, std::move(weights)};
}

std::string timeline_svg(const TimedSchedule& timed, const std::string& title) {
  const report::TimelineStyle style{1280, title, timed.style.steps ? schedule::kUnitStep : Picoseconds(0),
                                    "micro-batches", timed.times.bubble_rate};
  return report::to_svg(sim::to_trace(timed.schedule, timed.times, timed.costs), style);
}

}  // namespace penstock::experiment
