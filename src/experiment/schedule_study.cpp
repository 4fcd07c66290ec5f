#include "penstock/experiment/schedule_study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "at_node.hpp"
#include "claims_file.hpp"
#include "name.hpp"
#include "overrides.hpp"
#include "owner.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/report/table.hpp"
#include "penstock/schedule/weight_versions.hpp"
#include "penstock/sim/schedule_times.hpp"
#include "results_folder.hpp"
#include "selection.hpp"

namespace penstock::experiment {
namespace {

using core::Yaml;

report::TextRows no_rows() {
  return {{"schedule", "pipeline", "ranks", "micro_batches", "chunks", "makespan_s", "span_s", "bubble",
           "bubble_s", "peak_live", "weight_versions", "status"},
          {"schedule", "pipeline", "ranks", "micro_batches"},
          {}};
}

/// Parses a family, or {family: {chunks, group, memory_limit}}.
ScheduleCell read_schedule(const Yaml& node) {
  ScheduleCell out;
  const auto entries = node.is_scalar() ? std::vector<std::pair<std::string, Yaml>>{} : node.entries();
  if (!node.is_scalar() && entries.size() != 1)
    node.fail("expected a schedule, or {schedule: {option: value}}");
  out.family = out.schedule = node.is_scalar() ? node.text() : entries.front().first;
  at_node(node, [&] { return schedule::family_named(out.family).chunks; });
  if (entries.empty()) return out;
  const Yaml& options = entries.front().second;
  options.only({"chunks", "group", "memory_limit"});
  const auto read = [&](const char* key, std::int64_t most) -> int {
    const auto value = options.find(key);
    if (!value) return 0;
    out.schedule += fmt::format(":{}={}", key, value->text());
    return static_cast<int>(value->integer(1, most));
  };
  out.shape.chunks = read("chunks", schedule::kMostChunks);
  out.shape.group = read("group", schedule::kMostMicroBatches);
  if (const int limit = read("memory_limit", schedule::kMostMicroBatches)) out.shape.memory_limit = limit;
  return out;
}

std::vector<int> counts(const Yaml& node, int most) {
  std::vector<int> out;
  for (const Yaml& item : node.items()) out.push_back(static_cast<int>(item.integer(1, most)));
  if (out.empty()) node.fail("expected at least one number");
  return out;
}

/// Limited so that sums of times fit the clock.
core::Picoseconds read_time(const Yaml& node) {
  constexpr core::Seconds kMost(1e6);
  const core::Seconds time = node.seconds();
  if (time > kMost) node.fail(fmt::format("expected at most {:.0f} s", kMost.value()));
  return to_picoseconds(time);
}

schedule::PassCosts read_times(const Yaml& node) {
  const auto time = [&](const char* key, core::Picoseconds otherwise) {
    const auto value = node.find(key);
    return value ? read_time(*value) : otherwise;
  };
  schedule::PassCosts costs;
  costs.forward = read_time(node.at("forward"));
  costs.input_gradient = time("input_gradient", costs.forward);
  costs.weight_gradient = time("weight_gradient", costs.input_gradient);
  costs.delay = time("latency", core::Picoseconds(0));
  return costs;
}

/// Reads the bytes that heuristics count; by default everything is kept for the weight gradient.
void read_bytes(const Yaml& node, schedule::ScheduleShape& shape) {
  // Limited so that products with any memory limit do not overflow.
  constexpr std::int64_t kMost = std::int64_t{16} << 40;
  const auto activation = node.find("activation"), kept = node.find("weight_gradient_activation");
  if (activation) shape.activation_bytes = activation->bytes().value();
  if (shape.activation_bytes < 1 || shape.activation_bytes > kMost) activation->fail("expected 1B to 16TiB");
  shape.weight_gradient_bytes = kept ? kept->bytes().value() : shape.activation_bytes;
  if (shape.weight_gradient_bytes > shape.activation_bytes)
    kept->fail("expected a part of the activation, not more");
}

/// Values that all cells of a pipeline share.
ScheduleCell read_pipeline(const Yaml& node) {
  node.only({"name", "ranks", "micro_batches", "forward", "input_gradient", "weight_gradient", "latency",
             "activation", "weight_gradient_activation"});
  ScheduleCell out;
  out.pipeline = node.at("name").text();
  out.full_stage = read_times(node);
  read_bytes(node, out.shape);
  return out;
}

void add_pipeline(ScheduleStudy& study, const Yaml& node, const std::vector<ScheduleCell>& schedules) {
  const ScheduleCell pipeline = read_pipeline(node);
  const auto ranks = counts(node.at("ranks"), schedule::kMostRanks);
  const auto micro_batches = counts(node.at("micro_batches"), schedule::kMostMicroBatches);
  if (study.cells.size() + ranks.size() * micro_batches.size() * schedules.size() > kMostCells)
    node.fail(fmt::format("more than {} cells", kMostCells));
  for (const int p : ranks)
    for (const int m : micro_batches)
      for (ScheduleCell cell : schedules) {
        cell.pipeline = pipeline.pipeline;
        cell.full_stage = pipeline.full_stage;
        cell.shape.ranks = p;
        cell.shape.micro_batches = m;
        cell.shape.activation_bytes = pipeline.shape.activation_bytes;
        cell.shape.weight_gradient_bytes = pipeline.shape.weight_gradient_bytes;
        study.cells.push_back(std::move(cell));
      }
}

/// Values that identify a row.
std::vector<std::string> axes(const ScheduleCell& cell) {
  return {cell.schedule, cell.pipeline, std::to_string(cell.shape.ranks),
          std::to_string(cell.shape.micro_batches)};
}

/// Checks that axes identify rows.
void check_axes(const Yaml& root, const ScheduleStudy& study) {
  std::set<std::vector<std::string>> seen;
  for (const ScheduleCell& cell : study.cells)
    if (!seen.insert(axes(cell)).second)
      root.fail(fmt::format("two cells are {}: an axis repeats itself, or two pipelines share their name",
                            fmt::join(axes(cell), " ")));
}

std::vector<ScheduleCell> select(const Yaml& root, const std::vector<ScheduleCell>& grid) {
  std::vector<Values> values;
  for (const ScheduleCell& cell : grid) {
    const auto names = no_rows().axes, texts = axes(cell);
    Values& of_cell = values.emplace_back();
    for (std::size_t a = 0; a < names.size(); ++a) of_cell[names[a]] = texts[a];
  }
  const std::vector<bool> keep = wanted(root, values);
  std::vector<ScheduleCell> out;
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (keep[i]) out.push_back(grid[i]);
  return out;
}

report::TextRows rows_to_come(const ScheduleStudy& study) {
  report::TextRows out = no_rows();
  for (const ScheduleCell& cell : study.cells) {
    out.cells.push_back(axes(cell));
    out.cells.back().resize(out.columns.size());
  }
  return out;
}

/// Builds the schedule. Heuristics get the times of one chunk.
schedule::Schedule schedule_of(const ScheduleCell& cell) {
  schedule::ScheduleShape shape = cell.shape;
  const int chunks = shape.chunks > 0 ? shape.chunks : schedule::family_named(cell.family).chunks;
  const auto share = [&](core::Picoseconds time) {
    return core::Picoseconds(time.value() / std::max(1, chunks));
  };
  shape.costs.forward = share(cell.full_stage.forward);
  shape.costs.input_gradient = share(cell.full_stage.input_gradient);
  shape.costs.weight_gradient = share(cell.full_stage.weight_gradient);
  shape.costs.delay = cell.full_stage.delay;
  return schedule::make_schedule(cell.family, shape);
}

int most_versions(const ScheduleCell& cell, const schedule::Schedule& schedule) {
  const auto& policy = schedule::weight_policy(schedule::family_named(cell.family).weights);
  const auto held =
      weight_versions(schedule.ranks, policy, micro_batches_per_update(policy, cell.shape)).held;
  return *std::max_element(held.begin(), held.end());
}

/// Checks memory limits: some families take none, or none in bytes; a heuristic with bytes keeps its limit in
/// bytes.
void check_memory(const ScheduleCell& cell, double held) {
  const auto& shape = cell.shape;
  const bool in_bytes =
      schedule::family_named(cell.family).searched && shape.weight_gradient_bytes < shape.activation_bytes;
  if (shape.memory_limit && held > *shape.memory_limit && !in_bytes)
    throw core::BadInput(fmt::format("{}: a rank holds {} full-stage activations, memory_limit allows {}",
                                     cell.family, held, *shape.memory_limit));
}

std::vector<std::string> measured(const ScheduleCell& cell) {
  const schedule::Schedule schedule = schedule_of(cell);
  const sim::ScheduleTimes result =
      sim::simulate_schedule(schedule, sim::per_chunk(cell.full_stage, schedule));
  const double span = to_seconds(result.longest_rank_span).value();
  const double live = *std::max_element(result.peak_live.begin(), result.peak_live.end()) /
                      static_cast<double>(schedule.chunks());
  check_memory(cell, live);
  const auto text = [](double number) { return fmt::format("{}", number); };
  return {text(schedule.chunks()),
          text(to_seconds(result.makespan).value()),
          text(span),
          text(result.bubble_rate),
          text(result.bubble_rate * span),
          text(live),
          std::to_string(most_versions(cell, schedule)),
          "ok"};
}

std::vector<std::string> row_of(const ScheduleCell& cell) {
  std::vector<std::string> out = axes(cell);
  const std::size_t columns = no_rows().columns.size();
  try {
    const auto rest = measured(cell);
    out.insert(out.end(), rest.begin(), rest.end());
  } catch (const core::BadInput& e) {
    out.resize(columns);
    out.back() = std::string("not possible: ") + e.what();
  }
  return out;
}

/// Text for people, with five digits; results.csv has all digits.
std::string shown(const std::string& column, const std::string& cell) {
  if (cell.empty()) return "";
  if (column == "bubble") return fmt::format("{:.2f}%", std::stod(cell) * 100);
  return column.ends_with("_s") || column == "peak_live" ? fmt::format("{:.5g}", std::stod(cell)) : cell;
}

/// Title of a column; "bubble_s" is the time of the bubble, in seconds.
std::string title(std::string column) {
  if (column == "bubble_s") return "bubble time, s";
  if (column.ends_with("_s")) return column.substr(0, column.size() - 2) + ", s";
  std::replace(column.begin(), column.end(), '_', column == "micro_batches" ? '-' : ' ');
  return column;
}

std::string table(const report::TextRows& rows, const report::ScreenLimits& screen = {}) {
  std::vector<report::Column> columns;
  for (const std::string& name : rows.columns) {
    const bool words = name == "schedule" || name == "pipeline" || name == "status";
    columns.push_back({title(name), words ? report::Align::left : report::Align::right});
    columns.back().folds = name == "schedule" || name == "status";
  }
  report::Table out(std::move(columns));
  for (std::vector<std::string> cells : rows.cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) cells[c] = shown(rows.columns[c], cells[c]);
    out.add(std::move(cells));
  }
  return out.text(screen);
}

}  // namespace

bool is_schedule_study(const std::string& text, const std::string& path) {
  const Yaml root = Yaml::parse(text, path);
  return root.is_map() && root.find("pipelines").has_value();
}

ScheduleStudy load_schedule_study(const std::string& path, const Overrides& overrides) {
  return parse_schedule_study(core::read_file(path), path, overrides);
}

ScheduleStudy parse_schedule_study(const std::string& text, const std::string& path,
                                   const Overrides& overrides) {
  Yaml root = Yaml::parse(text, path);
  apply(overrides, root);
  root.only({"experiment", "summary", "schedules", "pipelines", "include", "exclude", "claims"});
  ScheduleStudy study;
  study.name = read_name(root.at("experiment"));
  if (const auto node = root.find("summary")) study.summary = node->text();
  std::vector<ScheduleCell> schedules;
  for (const Yaml& node : root.at("schedules").items()) schedules.push_back(read_schedule(node));
  for (const Yaml& node : root.at("pipelines").items()) add_pipeline(study, node, schedules);
  check_axes(root, study);
  study.cells = select(root, study.cells);
  if (study.cells.empty()) root.fail("there is nothing to run: expected schedules and pipelines");
  study.claims = read_claims(root, rows_to_come(study));
  return study;
}

report::TextRows run_cells(const ScheduleStudy& study) {
  report::TextRows out = no_rows();
  out.cells.resize(study.cells.size());
  core::parallel_for(study.cells.size(), [&](std::size_t i) { out.cells[i] = row_of(study.cells[i]); });
  return out;
}

std::string run(const ScheduleStudy& study, const std::string& folder, const report::Provenance& provenance,
                const report::ScreenLimits& screen) {
  own(folder, study.name, study.summary);
  const report::TextRows rows = run_cells(study);
  const std::string shown = table(rows, screen);
  core::write_file(folder + "/results.csv", report::to_csv(rows));
  core::write_file(folder + "/results.json", report::rows_json(rows));
  core::write_file(folder + "/provenance.json", provenance_json(provenance, study.summary));
  core::write_file(folder + "/table.txt", table(rows));
  const std::string claims = write_claims(folder, study.name, study.summary, study.claims, rows);
  return claims.empty() ? shown : shown + "\n" + claims;
}

}  // namespace penstock::experiment
