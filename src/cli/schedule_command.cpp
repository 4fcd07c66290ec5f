#include <fmt/format.h>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/timed_schedule.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_csv.hpp"

namespace penstock::cli {
namespace {

using experiment::TimedSchedule;

constexpr std::size_t kColumns = 150;  ///< of the picture, where the width of the screen is unknown
constexpr int kMostCount = 1 << 30;    ///< of anything; make_schedule checks what is too large for it

struct ScheduleFlags {
  experiment::ScheduleRequest request;
  std::string csv, svg;
  bool json = false;
};

/// A lowered file is for torch.distributed.pipelining.
void check_runtime_knows(const schedule::Schedule& schedule) {
  for (const schedule::RankOrder& row : schedule.ranks)
    for (const schedule::Action& action : row)
      if (action.kind >= schedule::ActionKind::recompute)
        throw core::BadInput(fmt::format(
            "--lower --csv: torch.distributed.pipelining has no action like {}; leave out --lower "
            "for a file that Penstock alone reads",
            token(action)));
}

void write_files(const ScheduleFlags& flags, const TimedSchedule& timed) {
  if (!flags.csv.empty() && timed.schedule.copies > 1)
    throw core::BadInput("--csv: a schedule file cannot distinguish the copies of the model");
  if (!flags.csv.empty() && flags.request.lower) check_runtime_knows(timed.schedule);
  if (!flags.csv.empty()) core::write_file(flags.csv, to_csv(timed.schedule));
  if (!flags.svg.empty()) core::write_file(flags.svg, timeline_svg(timed, flags.request.name));
}

/// Columns left beside the ranks' numbers.
std::size_t columns(const report::ScreenLimits& screen) {
  constexpr std::size_t kMargin = 8;
  return screen.width == 0 ? kColumns : screen.width - kMargin;
}

core::ExitCode run(const ScheduleFlags& flags, const CommandContext&) {
  const TimedSchedule timed = experiment::timed_schedule(flags.request);
  write_files(flags, timed);
  if (flags.json) {
    print(experiment::schedule_json(timed.schedule, timed.times, timed.style, timed.weights));
    return core::ExitCode::done;
  }
  const report::ScreenLimits here = screen();
  if (flags.csv.empty() && flags.svg.empty())
    print(experiment::schedule_timeline(timed.schedule, timed.times, columns(here)) + "\n");
  print_page(experiment::schedule_summary(timed.schedule, timed.times, timed.style) +
                 experiment::weights_line(timed.policy, timed.weights),
             here);
  return core::ExitCode::done;
}

void add_times(CLI::App& command, ScheduleFlags& flags) {
  const auto time = [&](const char* flag, std::string& value, const char* help) {
    command.add_option(flag, value, help)->type_name("T");
  };
  time("--forward", flags.request.forward, "forward pass; default: 1 step");
  time("--backward-input", flags.request.input_gradient, "input gradient; default: as the forward");
  time("--backward-weight", flags.request.weight_gradient, "weight gradient; default: as the input gradient");
  time("--recompute", flags.request.recompute,
       "recomputation (R in a schedule file); default: as the forward");
  time("--step", flags.request.step, "optimizer step (STEP in a schedule file); default: 0");
  time("--latency", flags.request.latency, "from a pass's end to its use on another rank; default: 0");
}

}  // namespace

void add_schedule(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "schedule", "Make a pipeline schedule or read one from a schedule file, time it and draw it.");
  auto flags = std::make_shared<ScheduleFlags>();
  command->footer(
      "Times are of a full stage, a P-th of the model; a chunk takes its share. Numbers without a unit "
      "are steps. The picture shows F forward, I input gradient, W weight gradient, B both; small "
      "letters mark later chunks of a rank. A schedule file has one line per rank with cells such as "
      "0F0,1I2,3W1,2B5 (stage, pass, micro-batch), as in torch.distributed.pipelining. Further cells: "
      "0R3 recomputes, 0EVICT3 and 0LOAD3 move an activation to the partner of the rank and back, "
      "0STEP is the optimizer step, BARRIER waits for all ranks. A schedule that breaks a rule is "
      "refused; each violation names rank and cell.\n"
      "\n"
      "Example:\n"
      "  penstock schedule zbv --ranks 4 --microbatches 8 --latency 0.1 --csv zbv.csv --svg zbv.svg");
  command->add_option("NAME", flags->request.name, "a family (penstock schedules), or a schedule file (.csv)")
      ->required()
      ->type_name("NAME|FILE")
      ->check(suggest(schedule_names()));
  const auto count = [&](const char* flag, int& value, const char* help) {
    command->add_option(flag, value, help)->check(CLI::Range(1, kMostCount).description(""))->type_name("N");
  };
  count("--ranks", flags->request.shape.ranks, "devices in the pipeline");
  count("--chunks", flags->request.shape.chunks, "stages per rank; default: what the family usually has");
  count("--microbatches", flags->request.shape.micro_batches, "micro-batches per iteration");
  count("--group", flags->request.shape.group,
        "micro-batches per round (interleaved), k (kfkb), micro-batches that are sliced (sliced_1f1b), "
        "pipelines per direction (chimera), micro-batches per update (pipedream_2bw)");
  add_times(*command, *flags);
  command
      ->add_option("--memory-limit", flags->request.shape.memory_limit,
                   "full-stage activations a rank may hold")
      ->check(CLI::Range(1, kMostCount).description(""))
      ->type_name("K");
  command->add_option("--csv", flags->csv, "write the schedule here")->type_name("FILE");
  command->add_flag(
      "--lower", flags->request.lower,
      "lower to the actions of torch.distributed.pipelining: adds SEND and RECV, UNSHARD and RESHARD of "
      "sharded weights, REDUCE_GRAD; in a --csv file also their WAITs");
  command->add_option("--svg", flags->svg, "draw the timeline here")->type_name("FILE");
  add_json(*command, flags->json);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
