#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "command.hpp"
#include "grid_report.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/timeline_svg.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/grid_csv.hpp"
#include "penstock/schedule/grid_faults.hpp"
#include "penstock/schedule/lowering.hpp"
#include "penstock/sim/grid_trace.hpp"

namespace penstock::cli {
namespace {

using core::Picoseconds;
using schedule::Grid;
using schedule::GridCosts;

constexpr double kMostSteps = 1e6;
constexpr std::size_t kColumns = 150;  ///< of the picture, where nothing says how wide the screen is
constexpr int kMostCount = 1 << 30;    ///< of anything; make_grid knows what is too large for it

struct ScheduleFlags {
  std::string name;
  schedule::GridShape shape{0, 0, 0, 0, {}, {}, 1, 1};
  std::string forward, input_gradient, weight_gradient, recompute, step, latency;
  std::string grid, svg;
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
std::pair<GridCosts, TimeStyle> full_stage(const ScheduleFlags& flags) {
  GridCosts costs;
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

void check_file_shape(const ScheduleFlags& flags, const Grid& grid) {
  const auto check = [&](const char* flag, int given, double found) {
    if (given > 0 && given != found)
      throw core::BadInput(fmt::format("{}: {} {}, but the file has {}", flags.name, flag, given, found));
  };
  check("--ranks", flags.shape.ranks, static_cast<double>(grid.ranks.size()));
  check("--chunks", flags.shape.chunks, grid.chunks());
}

Grid load(const ScheduleFlags& flags) {
  if (flags.shape.group > 0) throw core::BadInput(flags.name + ": --group is for families, not for files");
  const Grid grid = schedule::load_grid(flags.name);
  check_file_shape(flags, grid);
  const int count = flags.shape.micro_batches > 0 ? flags.shape.micro_batches : micro_batches(grid);
  const auto faults = schedule::grid_faults(grid, count);
  if (faults.empty()) return grid;
  std::string message = flags.name + ": the schedule is not valid";
  for (const std::string& fault : faults) message += "\n  " + fault;
  throw core::Error(core::ExitCode::invalid_plan, message);
}

Grid make(const ScheduleFlags& flags, const GridCosts& full) {
  schedule::GridShape shape = flags.shape;
  const int chunks = shape.chunks > 0 ? shape.chunks : schedule::grid_family(flags.name).chunks;
  if (shape.ranks == 0 || shape.micro_batches == 0)
    throw core::BadInput(flags.name + ": --ranks and --microbatches are needed");
  const auto share = [&](Picoseconds time) { return Picoseconds(time.value() / std::max(1, chunks)); };
  shape.costs = {
      share(full.forward), share(full.input_gradient), share(full.weight_gradient), full.delay, {}, {}};
  return schedule::make_grid(flags.name, shape);
}

/// What a runtime executes, in the order torch.distributed.pipelining adds things.
Grid lowered(const Grid& grid) {
  for (const schedule::Row& row : grid.ranks)
    for (const schedule::Action& action : row)
      if (action.pass >= schedule::Pass::send_forward && action.pass <= schedule::Pass::reduce_gradient)
        throw core::BadInput(fmt::format("--lower: the grid is already lowered, it has {}", token(action)));
  return add_messages(add_reductions(add_unshards(merge_backwards(grid))));
}

/// A time for passes that the grid does not have is a mistake.
void check_used(const char* flag, const std::string& given, schedule::Pass pass, const Grid& grid) {
  if (given.empty()) return;
  for (const schedule::Row& row : grid.ranks)
    for (const schedule::Action& action : row)
      if (action.pass == pass) return;
  throw core::BadInput(fmt::format("{} {}: the schedule has no such pass", flag, given));
}

Grid grid_of(const ScheduleFlags& flags, const GridCosts& full) {
  const Grid grid = is_file(flags.name) ? load(flags) : make(flags, full);
  check_used("--recompute", flags.recompute, schedule::Pass::recompute, grid);
  check_used("--step", flags.step, schedule::Pass::step, grid);
  return flags.lower ? lowered(grid) : grid;
}

void check_memory(const ScheduleFlags& flags, const Grid& grid, const sim::GridResult& result) {
  for (std::size_t r = 0; r < grid.ranks.size() && flags.shape.memory_limit; ++r)
    if (const double peak = result.peak_live[r] / grid.chunks(); peak > *flags.shape.memory_limit)
      throw core::Infeasible(
          fmt::format("rank {} holds {:.4g} full-stage activations, --memory-limit allows {}", r, peak,
                      *flags.shape.memory_limit));
}

void write_files(const ScheduleFlags& flags, const Grid& grid, const sim::GridResult& result,
                 const GridCosts& costs, bool steps) {
  if (!flags.grid.empty() && grid.copies > 1)
    throw core::BadInput("--grid: a grid file cannot tell the copies of the model apart");
  if (!flags.grid.empty()) core::write_file(flags.grid, to_csv(grid));
  const report::TimelineStyle style{1280, flags.name, steps ? schedule::kUnitStep : Picoseconds(0),
                                    "micro-batches", result.bubble_rate};
  if (!flags.svg.empty())
    core::write_file(flags.svg, report::to_svg(sim::to_trace(grid, result, costs), style));
}

/// What is left beside the ranks' numbers.
std::size_t columns(const report::Screen& screen) {
  constexpr std::size_t kMargin = 8;
  return screen.width == 0 ? kColumns : screen.width - kMargin;
}

core::ExitCode run(const ScheduleFlags& flags, const Session&) {
  const auto [full, style] = full_stage(flags);
  const Grid grid = grid_of(flags, full);
  const GridCosts costs = sim::per_chunk(full, grid);
  const sim::GridResult result = sim::simulate_grid(grid, costs);
  check_memory(flags, grid, result);
  write_files(flags, grid, result, costs, style.steps);
  const auto& policy =
      schedule::weight_policy(is_file(flags.name) ? "flush" : schedule::grid_family(flags.name).weights);
  const auto weights = weight_versions(grid.ranks, policy, micro_batches_per_update(policy, flags.shape));
  if (flags.json) {
    print(grid_json(grid, result, style, weights));
    return core::ExitCode::done;
  }
  const report::Screen here = screen();
  if (flags.grid.empty() && flags.svg.empty()) print(grid_timeline(grid, result, columns(here)) + "\n");
  print_page(grid_summary(grid, result, style) + weights_line(policy, weights), here);
  return core::ExitCode::done;
}

void add_times(CLI::App& command, ScheduleFlags& flags) {
  const auto time = [&](const char* flag, std::string& value, const char* help) {
    command.add_option(flag, value, help)->type_name("T");
  };
  time("--forward", flags.forward, "forward pass; default: 1 step");
  time("--backward-input", flags.input_gradient, "input gradient; default: as the forward");
  time("--backward-weight", flags.weight_gradient, "weight gradient; default: as the input gradient");
  time("--recompute", flags.recompute, "recomputation (R in a grid file); default: as the forward");
  time("--step", flags.step, "optimizer step (STEP in a grid file); default: 0");
  time("--latency", flags.latency, "from a pass's end to its use on another rank; default: 0");
}

}  // namespace

void add_schedule(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "schedule", "Make a pipeline schedule or read one from a grid file, time it and draw it.");
  auto flags = std::make_shared<ScheduleFlags>();
  command->footer(
      "Times are of a full stage, a P-th of the model: chunks take their share. Bare numbers are unit steps. "
      "The picture\n"
      "shows F forward, I input gradient, W weight gradient, B both, small letters for a rank's later "
      "chunks. A grid file has\n"
      "one line per rank, cells such as 0F0,1I2,3W1,2B5 (stage, pass, micro-batch), as "
      "torch.distributed.pipelining loads\n"
      "it; beyond that 0R3 recomputes, 0EVICT3 and 0LOAD3 park an activation on the rank's partner, 0STEP is "
      "the\n"
      "optimizer's, BARRIER waits for all ranks. A grid with faults is refused, each told by rank and "
      "cell.\n\n"
      "Example:\n"
      "  penstock schedule zbv --ranks 4 --microbatches 8 --latency 0.1 --grid zbv.csv --svg zbv.svg");
  command->add_option("NAME", flags->name, "a family (penstock schedules), or a grid file (.csv)")
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
        "micro-batches per round (interleaved), k (kfkb), micro-batches that are cut (sliced_1f1b), "
        "pipelines per direction (chimera), micro-batches per update (pipedream_2bw)");
  add_times(*command, *flags);
  command->add_option("--memory-limit", flags->shape.memory_limit, "full-stage activations a rank may hold")
      ->check(CLI::Range(1, kMostCount).description(""))
      ->type_name("K");
  command->add_option("--grid", flags->grid, "write the grid here")->type_name("FILE");
  command->add_flag(
      "--lower", flags->lower,
      "as a runtime executes it: whole backwards, SEND and RECV, UNSHARD and RESHARD of sharded "
      "weights, REDUCE_GRAD");
  command->add_option("--svg", flags->svg, "draw the timeline here")->type_name("FILE");
  add_json(*command, flags->json);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
