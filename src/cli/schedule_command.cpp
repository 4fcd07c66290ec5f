#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/lowering.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "penstock/sim/schedule_trace.hpp"
#include "schedule_report.hpp"

namespace penstock::cli {
namespace {

using core::Picoseconds;
using schedule::PassCosts;
using schedule::Schedule;

constexpr double kMostSteps = 1e6;
constexpr std::size_t kColumns = 150;  ///< of the picture, where nothing says how wide the screen is
constexpr int kMostCount = 1 << 30;    ///< of anything; make_schedule knows what is too large for it

struct ScheduleFlags {
  std::string name;
  schedule::ScheduleShape shape{0, 0, 0, 0, {}, {}, 1, 1};
  std::string forward, input_gradient, weight_gradient, recompute, step, latency;
  std::string csv, svg;
  bool json = false, lower = false;
};

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

/// Times of a full stage; what is not given follows the time before it, the latency is zero.
std::pair<PassCosts, TimeStyle> full_stage(const ScheduleFlags& flags) {
  PassCosts costs;
  int given = 0, steps = 0;
  const auto read = [&](const char* flag, const std::string& text, Picoseconds otherwise) {
    if (text.empty()) return otherwise;
    const GivenTime time = parse_time(flag, text);
    ++given;
    steps += time.steps;
    return time.value;
  };
  costs.forward = read("--forward", flags.forward, schedule::kUnitStep);
  costs.input_gradient = read("--backward-input", flags.input_gradient, costs.forward);
  costs.weight_gradient = read("--backward-weight", flags.weight_gradient, costs.input_gradient);
  costs.delay = read("--latency", flags.latency, Picoseconds(0));
  if (!flags.recompute.empty()) costs.recompute = read("--recompute", flags.recompute, {});
  costs.step = read("--step", flags.step, Picoseconds(0));
  const bool mixed = steps != 0 && steps != given;
  if (mixed || (steps != given && flags.forward.empty()))
    throw core::BadInput("times: give all with units, --forward among them, or all in unit steps");
  return {costs, TimeStyle{steps == given}};
}

bool is_file(const std::string& name) {
  return name.find_first_of("./") != std::string::npos;
}

void check_file_shape(const ScheduleFlags& flags, const Schedule& schedule) {
  const auto check = [&](const char* flag, int given, double found) {
    if (given > 0 && given != found)
      throw core::BadInput(fmt::format("{}: {} {}, but the file has {}", flags.name, flag, given, found));
  };
  check("--ranks", flags.shape.ranks, static_cast<double>(schedule.ranks.size()));
  check("--chunks", flags.shape.chunks, schedule.chunks());
}

Schedule load(const ScheduleFlags& flags) {
  if (flags.shape.group > 0) throw core::BadInput(flags.name + ": --group is for families, not for files");
  const Schedule schedule = schedule::load_schedule(flags.name);
  check_file_shape(flags, schedule);
  const int count = flags.shape.micro_batches > 0 ? flags.shape.micro_batches : micro_batches(schedule);
  const auto violations = schedule::schedule_violations(schedule, count);
  if (violations.empty()) return schedule;
  std::string message = flags.name + ": the schedule is not valid";
  for (const std::string& violation : violations) message += "\n  " + violation;
  throw core::Error(core::ExitCode::invalid_plan, message);
}

Schedule make(const ScheduleFlags& flags, const PassCosts& full) {
  schedule::ScheduleShape shape = flags.shape;
  const int chunks = shape.chunks > 0 ? shape.chunks : schedule::family_named(flags.name).chunks;
  if (shape.ranks == 0 || shape.micro_batches == 0)
    throw core::BadInput(flags.name + ": --ranks and --microbatches are needed");
  const auto share = [&](Picoseconds time) { return Picoseconds(time.value() / std::max(1, chunks)); };
  shape.costs = {
      share(full.forward), share(full.input_gradient), share(full.weight_gradient), full.delay, {}, {}};
  return schedule::make_schedule(flags.name, shape);
}

/// What a runtime executes, in the order torch.distributed.pipelining adds things.
Schedule lowered(const Schedule& schedule) {
  for (const schedule::RankOrder& row : schedule.ranks)
    for (const schedule::Action& action : row)
      if (action.kind >= schedule::ActionKind::send_forward &&
          action.kind <= schedule::ActionKind::reduce_gradient)
        throw core::BadInput(
            fmt::format("--lower: the schedule is already lowered, it has {}", token(action)));
  return add_messages(add_reductions(add_unshards(merge_backwards(schedule))));
}

/// A time for passes that the schedule does not have is a mistake.
void check_used(const char* flag, const std::string& given, schedule::ActionKind kind,
                const Schedule& schedule) {
  if (given.empty()) return;
  for (const schedule::RankOrder& row : schedule.ranks)
    for (const schedule::Action& action : row)
      if (action.kind == kind) return;
  throw core::BadInput(fmt::format("{} {}: the schedule has no such pass", flag, given));
}

Schedule schedule_of(const ScheduleFlags& flags, const PassCosts& full) {
  const Schedule schedule = is_file(flags.name) ? load(flags) : make(flags, full);
  check_used("--recompute", flags.recompute, schedule::ActionKind::recompute, schedule);
  check_used("--step", flags.step, schedule::ActionKind::step, schedule);
  return flags.lower ? lowered(schedule) : schedule;
}

void check_memory(const ScheduleFlags& flags, const Schedule& schedule, const sim::ScheduleTimes& result) {
  for (std::size_t r = 0; r < schedule.ranks.size() && flags.shape.memory_limit; ++r)
    if (const double peak = result.peak_live[r] / schedule.chunks(); peak > *flags.shape.memory_limit)
      throw core::Infeasible(
          fmt::format("rank {} holds {:.4g} full-stage activations, --memory-limit allows {}", r, peak,
                      *flags.shape.memory_limit));
}

void write_files(const ScheduleFlags& flags, const Schedule& schedule, const sim::ScheduleTimes& result,
                 const PassCosts& costs, bool steps) {
  if (!flags.csv.empty() && schedule.copies > 1)
    throw core::BadInput("--csv: a schedule file cannot tell the copies of the model apart");
  if (!flags.csv.empty()) core::write_file(flags.csv, to_csv(schedule));
  const report::TimelineStyle style{1280, flags.name, steps ? schedule::kUnitStep : Picoseconds(0),
                                    "micro-batches", result.bubble_rate};
  if (!flags.svg.empty())
    core::write_file(flags.svg, report::to_svg(sim::to_trace(schedule, result, costs), style));
}

/// What is left beside the ranks' numbers.
std::size_t columns(const report::Screen& screen) {
  constexpr std::size_t kMargin = 8;
  return screen.width == 0 ? kColumns : screen.width - kMargin;
}

core::ExitCode run(const ScheduleFlags& flags, const Session&) {
  const auto [full, style] = full_stage(flags);
  const Schedule schedule = schedule_of(flags, full);
  const PassCosts costs = sim::per_chunk(full, schedule);
  const sim::ScheduleTimes result = sim::simulate_schedule(schedule, costs);
  check_memory(flags, schedule, result);
  write_files(flags, schedule, result, costs, style.steps);
  const auto& policy =
      schedule::weight_policy(is_file(flags.name) ? "flush" : schedule::family_named(flags.name).weights);
  const auto weights = weight_versions(schedule.ranks, policy, micro_batches_per_update(policy, flags.shape));
  if (flags.json) {
    print(schedule_json(schedule, result, style, weights));
    return core::ExitCode::done;
  }
  const report::Screen here = screen();
  if (flags.csv.empty() && flags.svg.empty())
    print(schedule_timeline(schedule, result, columns(here)) + "\n");
  print_page(schedule_summary(schedule, result, style) + weights_line(policy, weights), here);
  return core::ExitCode::done;
}

void add_times(CLI::App& command, ScheduleFlags& flags) {
  const auto time = [&](const char* flag, std::string& value, const char* help) {
    command.add_option(flag, value, help)->type_name("T");
  };
  time("--forward", flags.forward, "forward pass; default: 1 step");
  time("--backward-input", flags.input_gradient, "input gradient; default: as the forward");
  time("--backward-weight", flags.weight_gradient, "weight gradient; default: as the input gradient");
  time("--recompute", flags.recompute, "recomputation (R in a schedule file); default: as the forward");
  time("--step", flags.step, "optimizer step (STEP in a schedule file); default: 0");
  time("--latency", flags.latency, "from a pass's end to its use on another rank; default: 0");
}

}  // namespace

void add_schedule(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "schedule", "Make a pipeline schedule or read one from a schedule file, time it and draw it.");
  auto flags = std::make_shared<ScheduleFlags>();
  command->footer(
      "Times are of a full stage, a P-th of the model: chunks take their share. Bare numbers are unit steps. "
      "The picture\n"
      "shows F forward, I input gradient, W weight gradient, B both, small letters for a rank's later "
      "chunks. A schedule file has\n"
      "one line per rank, cells such as 0F0,1I2,3W1,2B5 (stage, pass, micro-batch), as "
      "torch.distributed.pipelining loads\n"
      "it; beyond that 0R3 recomputes, 0EVICT3 and 0LOAD3 park an activation on the rank's partner, 0STEP is "
      "the\n"
      "optimizer's, BARRIER waits for all ranks. A schedule that breaks rules is refused; every violation "
      "names rank and "
      "cell.\n\n"
      "Example:\n"
      "  penstock schedule zbv --ranks 4 --microbatches 8 --latency 0.1 --csv zbv.csv --svg zbv.svg");
  command->add_option("NAME", flags->name, "a family (penstock schedules), or a schedule file (.csv)")
      ->required()
      ->type_name("NAME|FILE")
      ->check(suggest(schedule_names()));
  const auto count = [&](const char* flag, int& value, const char* help) {
    command->add_option(flag, value, help)->check(CLI::Range(1, kMostCount).description(""))->type_name("N");
  };
  count("--ranks", flags->shape.ranks, "devices in the pipeline");
  count("--chunks", flags->shape.chunks, "stages per rank; default: what the family usually has");
  count("--microbatches", flags->shape.micro_batches, "micro-batches per iteration");
  count("--group", flags->shape.group,
        "micro-batches per round (interleaved), k (kfkb), micro-batches that are sliced (sliced_1f1b), "
        "pipelines per direction (chimera), micro-batches per update (pipedream_2bw)");
  add_times(*command, *flags);
  command->add_option("--memory-limit", flags->shape.memory_limit, "full-stage activations a rank may hold")
      ->check(CLI::Range(1, kMostCount).description(""))
      ->type_name("K");
  command->add_option("--csv", flags->csv, "write the schedule here")->type_name("FILE");
  command->add_flag(
      "--lower", flags->lower,
      "lower to what a runtime executes: whole backwards, SEND and RECV, UNSHARD and RESHARD of sharded "
      "weights, REDUCE_GRAD");
  command->add_option("--svg", flags->svg, "draw the timeline here")->type_name("FILE");
  add_json(*command, flags->json);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
