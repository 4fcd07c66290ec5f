#include "penstock/experiment/schedule_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

using schedule::ActionKind;
using schedule::Schedule;

char letter(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return 'F';
    case ActionKind::input_gradient:
      return 'I';
    case ActionKind::weight_gradient:
      return 'W';
    case ActionKind::recompute:
      return 'R';
    case ActionKind::step:
      return 'S';
    default:
      return 'B';
  }
}

/// Returns a label such as "F3", in lower case for a rank's later chunks; a pair has both: "F3b1".
std::string label(const Schedule& schedule, const schedule::Action& action) {
  std::string out;
  for (const schedule::Action& part : schedule::parts(action)) {
    const bool later = part.stage % schedule.chain() >= static_cast<int>(schedule.ranks.size());
    const char c = letter(part.kind);
    out += later ? static_cast<char>(c - 'A' + 'a') : c;
    if (part.micro_batch >= 0) out += std::to_string(part.micro_batch);
  }
  return out;
}

/// Columns per picosecond: the shortest pass gets room for its label, unless the picture would be too wide.
double scale(const sim::ScheduleTimes& result, std::size_t columns) {
  core::Picoseconds shortest = result.makespan;
  for (const auto& row : result.times)
    for (const auto& time : row)
      if (time.start < time.end) shortest = std::min(shortest, time.end - time.start);
  const double makespan = std::max(1.0, static_cast<double>(result.makespan.value()));
  return std::min(4 / std::max(1.0, static_cast<double>(shortest.value())),
                  static_cast<double>(columns) / makespan);
}

std::string timeline(const Schedule& schedule, std::size_t rank, const std::vector<sim::TimeInterval>& times,
                     double per_ps) {
  std::string line;
  const auto column = [&](core::Picoseconds t) {
    return static_cast<std::size_t>(std::llround(static_cast<double>(t.value()) * per_ps));
  };
  for (std::size_t c = 0; c < times.size(); ++c) {
    const std::size_t begin = column(times[c].start), end = column(times[c].end);
    if (times[c].start == times[c].end || begin == end) continue;
    line.resize(begin, '.');
    std::string text = label(schedule, schedule.ranks[rank][c]);
    if (text.size() > end - begin) text = text.substr(0, 1);
    text.resize(end - begin, '-');
    line += text;
  }
  return line;
}

template <class T, class F>
std::vector<double> numbers(const std::vector<T>& values, F f) {
  std::vector<double> out;
  for (const T& value : values) out.push_back(f(value));
  return out;
}

}  // namespace

double TimeStyle::number(core::Picoseconds time) const {
  return steps ? time / schedule::kUnitStep : to_seconds(time).value();
}

std::string TimeStyle::text(core::Picoseconds time) const {
  return steps ? fmt::format("{:.10g}", number(time)) : core::show(to_seconds(time));
}

std::string schedule_timeline(const Schedule& schedule, const sim::ScheduleTimes& result,
                              std::size_t columns) {
  const double per_ps = scale(result, columns);
  const std::size_t digits = std::to_string(schedule.ranks.size() - 1).size();
  std::string out;
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    out += fmt::format("{:>{}} |{}\n", r, digits, timeline(schedule, r, result.times[r], per_ps));
  return out;
}

std::string schedule_summary(const Schedule& schedule, const sim::ScheduleTimes& result,
                             const TimeStyle& style) {
  report::Table table(
      {{"rank", report::Align::right}, {"idle", report::Align::right}, {"peak live", report::Align::right}});
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    table.add({std::to_string(r), style.text(result.idle[r]),
               fmt::format("{:.4g}", result.peak_live[r] / schedule.chunks())});
  return fmt::format(
      "{}\nmakespan {}, longest rank span {}, bubble {:.2f} % of it; peak live in full stages\n",
      table.text(), style.text(result.makespan), style.text(result.longest_rank_span),
      result.bubble_rate * 100);
}

std::string weights_line(const schedule::WeightPolicy& policy, const schedule::WeightVersions& weights) {
  if (policy.flush) return "";
  int missed = 0;
  for (const auto& row : weights.staleness)
    for (const int updates : row) missed = std::max(missed, updates);
  return fmt::format("weights {}: {} versions per rank{}, updates {} at most {}\n", policy.name,
                     fmt::join(weights.held, " "),
                     policy.more_buffers > 0 ? fmt::format(" and {} more buffer", policy.more_buffers) : "",
                     policy.predicted ? "predicted" : "missed", missed);
}

std::string schedule_json(const Schedule& schedule, const sim::ScheduleTimes& result, const TimeStyle& style,
                          const schedule::WeightVersions& weights) {
  nlohmann::ordered_json out = {
      {"unit", style.steps ? "step" : "s"},
      {"makespan", style.number(result.makespan)},
      {"longest_rank_span", style.number(result.longest_rank_span)},
      {"bubble_rate", result.bubble_rate},
      {"idle_per_rank", numbers(result.idle, [&](auto t) { return style.number(t); })},
      {"peak_live_per_rank", numbers(result.peak_live, [&](int live) { return live / schedule.chunks(); })},
      {"weight_versions_per_rank", weights.held},
      {"tasks", nlohmann::ordered_json::array()}};
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    for (std::size_t c = 0; c < schedule.ranks[r].size(); ++c)
      if (schedule.ranks[r][c].kind != ActionKind::idle)
        out["tasks"].push_back({{"rank", r},
                                {"action", token(schedule.ranks[r][c])},
                                {"start", style.number(result.times[r][c].start)},
                                {"end", style.number(result.times[r][c].end)}});
  return out.dump(2) + "\n";
}

}  // namespace penstock::experiment
