#include "explain_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/report/table.hpp"
#include "waterfall_report.hpp"

namespace penstock::experiment {
namespace {

using core::Picoseconds;
using core::show;
using report::Align;
using sim::TimeExplanation;

std::string shown(Picoseconds time) {
  return show(to_seconds(time));
}
std::string shares_table(const TimeExplanation& explanation, const report::ScreenLimits& screen) {
  report::Table table({{.title = "on the critical path", .folds = true},
                       {"time", Align::right},
                       {"share", Align::right},
                       {"iteration without it", Align::right},
                       {"saved", Align::right}});
  for (const auto& share : explanation.shares) {
    const std::string saved =
        share.without ? core::show_share((explanation.iteration - *share.without) / explanation.iteration)
                      : "";
    table.add({share.name, shown(share.time), core::show_share(share.share),
               share.without ? shown(*share.without) : "", saved});
  }
  return table.text(screen);
}

/// The run's longest part in words, and its share of the run if there are others.
std::string words(const TimeExplanation& explanation, const sim::PathRun& run) {
  const auto& path = explanation.path;
  const std::size_t count = run.last - run.first + 1;
  if (count == 1) return path[run.first].what;
  const auto& main = path[run.main];
  const Picoseconds whole = path[run.last].end - path[run.first].start;
  if (run.main_time == whole) return fmt::format("{} and {} more", path[run.first].what, count - 1);
  return fmt::format("{} tasks; longest: {} ({})", count, main.what, core::show_share(run.main_time / whole));
}

std::string resource_name(const TimeExplanation& explanation, const sim::LimitingResource& resource) {
  for (const auto& share : explanation.shares)
    if (share.resource == resource) return share.name;
  return "";
}

std::string path_table(const ExplainedRun& run, const report::ScreenLimits& screen) {
  const TimeExplanation& explanation = run.explanation;
  report::Table table({{"from", Align::right},
                       {"to", Align::right, 2},
                       {"kind"},
                       {.title = "resource", .folds = true},
                       {.title = "what", .folds = true},
                       {"after", Align::left, 1}});
  for (const sim::PathRun& part : sim::compressed(explanation, run.entries)) {
    const auto &first = explanation.path[part.first], &main = explanation.path[part.main];
    table.add({shown(first.start), shown(explanation.path[part.last].end), std::string(name(main.kind)),
               resource_name(explanation, main.resource), words(explanation, part),
               std::string(name(first.cause))});
  }
  return table.text(screen);
}

}  // namespace

ExplainedRun explained_run(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                           const sim::SimulationOptions& options, const report::CellResult& row,
                           std::size_t entries) {
  const double full = cost::utilisation(problem.graph, problem.cluster, row.samples_per_s.value_or(0)).mfu;
  const double filled = full > 0 ? row.mfu.value_or(0) / full : 1;
  return {sim::explain(problem, scheduled, options), sim::waterfall(problem, scheduled, options, filled),
          entries};
}

std::string explain_table(const ExplainedRun& run, const report::ScreenLimits& screen) {
  return waterfall_table(run.waterfall, screen) + "\n" + shares_table(run.explanation, screen) + "\n" +
         path_table(run, screen);
}

nlohmann::ordered_json explain_json(const ExplainedRun& run) {
  const TimeExplanation& explanation = run.explanation;
  nlohmann::ordered_json out = {{"run_s", to_seconds(explanation.run).value()},
                                {"waterfall", waterfall_json(run.waterfall)}};
  for (const auto& share : explanation.shares) {
    nlohmann::ordered_json one = {
        {"resource", share.name}, {"time_s", to_seconds(share.time).value()}, {"share", share.share}};
    if (share.without) one["iteration_without_s"] = to_seconds(*share.without).value();
    out["shares"].push_back(std::move(one));
  }
  for (const sim::PathRun& part : sim::compressed(explanation, run.entries)) {
    const auto &first = explanation.path[part.first], &main = explanation.path[part.main];
    out["path"].push_back({{"start_s", to_seconds(first.start).value()},
                           {"end_s", to_seconds(explanation.path[part.last].end).value()},
                           {"kind", name(main.kind)},
                           {"resource", resource_name(explanation, main.resource)},
                           {"what", words(explanation, part)},
                           {"after", name(first.cause)}});
  }
  return out;
}

}  // namespace penstock::experiment
