// Answers about the size of a cluster as text, data and picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "assumptions_json.hpp"
#include "penstock/cluster/power.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/sizing.hpp"
#include "penstock/report/log_chart.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

using SizingJson = nlohmann::ordered_json;
using report::Align;

/// "15.6T", "500B", "2M".
std::string tokens_text(double tokens) {
  for (const auto& [unit, letter] : {std::pair(1e12, "T"), {1e9, "B"}, {1e6, "M"}, {1e3, "K"}})
    if (tokens >= unit) return fmt::format("{:.4g}{}", tokens / unit, letter);
  return fmt::format("{:g}", tokens);
}

/// "$3.21 million", "$12,300".
std::string money(double dollars) {
  if (dollars >= 1e6) return fmt::format("${:.3g} million", dollars * 1e-6);
  return dollars >= 1e3 ? fmt::format("${:.0f},{:03.0f}", std::floor(dollars / 1e3), std::fmod(dollars, 1e3))
                        : show_dollars(dollars);
}

std::string energy(double megawatt_hours) {
  return megawatt_hours >= 1e3 ? fmt::format("{:.3g} GWh", megawatt_hours * 1e-3)
                               : fmt::format("{:.3g} MWh", megawatt_hours);
}

std::string days_text(const SizedCluster& found) {
  if (!std::isfinite(found.days)) return "never";
  return fmt::format("{:.1f} ({:.1f} to {:.1f})", found.days, found.least_days(), found.most_days());
}

/// "16.5 days", "5.28 h", "4.16 min".
std::string long_time(core::Seconds time) {
  constexpr double hour = 3600, day = 86'400;  // s
  if (time.value() >= 2 * day) return fmt::format("{:.3g} days", time.value() / day);
  return time.value() >= 2 * hour ? fmt::format("{:.3g} h", time.value() / hour) : core::show(time);
}

std::string goal_text(const SizingReport& report) {
  std::string out = fmt::format("{}, {} tokens", report.model, tokens_text(report.goal.tokens));
  if (report.goal.days) out += fmt::format(", at most {:g} days", *report.goal.days);
  if (report.goal.dollars) out += fmt::format(", at most {}", money(*report.goal.dollars));
  return out;
}

/// A field of CSV (RFC 4180).
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) out += letter == '"' ? "\"\"" : std::string(1, letter);
  return out + "\"";
}

/// Name of the question that a cluster answers.
std::string role(const SizingAnswer& answer, std::size_t at, bool goal) {
  if (!goal) return "given";
  const bool smallest = answer.smallest == at, cheapest = answer.cheapest == at;
  if (smallest && cheapest) return "smallest, cheapest";
  if (smallest) return "smallest";
  if (cheapest) return "cheapest";
  return answer.tried[at].outcome.plan ? "tried" : "";
}

bool has_goal(const SizingGoal& goal) {
  return goal.days || goal.dollars;
}

bool is_answer(const SizingAnswer& answer, std::size_t at, bool goal) {
  return !goal || answer.smallest == at || answer.cheapest == at || answer.tried.size() == 1;
}

/// "B200 price is not known: --price B200=2.5" and what else an answer leaves open.
std::string answer_lines(const SizingAnswer& answer, bool goal) {
  std::string out;
  if (!answer.note.empty()) out += fmt::format("{}: {}\n", answer.gpus, answer.note);
  if (!answer.costs.empty()) out += fmt::format("{}: costs: {}\n", answer.gpus, answer.costs);
  for (std::size_t at = 0; at < answer.tried.size(); ++at) {
    if (!is_answer(answer, at, goal)) continue;
    const SizedCluster& found = answer.tried[at];
    out += fmt::format(
        "{}: a failure every {}, {:.0f} in all, {} for a checkpoint after every {} of work: {:.1f} % of the time is "
        "progress, without failures {:.1f} days\n",
        found.cluster, long_time(found.failures.mtbf), found.restarts, core::show(found.failures.checkpoint),
        long_time(found.interval), found.goodput * 100, found.days * found.goodput);
  }
  const auto lacks = [&](auto member) {
    return std::ranges::any_of(answer.tried, [&](const auto& found) { return !(found.*member); });
  };
  if (lacks(&SizedCluster::dollars))
    out += fmt::format("{}: no price is known, so no cost and no cheapest cluster (--price TYPE=DOLLARS)\n",
                       answer.gpus);
  if (lacks(&SizedCluster::megawatt_hours))
    out += fmt::format("{}: no power is known, so no energy\n", answer.gpus);
  return out;
}

SizingJson to_json(const SizedCluster& found) {
  const report::CellResult& row = found.outcome.row;
  SizingJson out = SizingJson::parse(report::to_record(row));
  out["cluster"] = found.cluster;
  SizingJson sized = {
      {"nodes", found.nodes},
      {"days", found.days},
      {"least_days", found.least_days()},
      {"most_days", found.most_days()},
      {"margin", found.margin},
      {"margin_measured", found.measured},
      {"goodput", found.goodput},
      {"restarts", found.restarts},
      {"mtbf_s", found.failures.mtbf.value()},
      {"checkpoint_s", found.failures.checkpoint.value()},
      {"checkpoint_interval_s", found.interval.value()},
      {"dollars", found.dollars ? SizingJson(*found.dollars) : SizingJson()},
      {"megawatt_hours", found.megawatt_hours ? SizingJson(*found.megawatt_hours) : SizingJson()}};
  sized["plan"] = std::move(out);
  return sized;
}

SizingJson index_or_null(const SizingAnswer& answer, std::optional<std::size_t> at) {
  return at ? SizingJson(answer.tried[*at].cluster) : SizingJson();
}

}  // namespace

Assumptions sizing_assumptions(const SizingMachine& machine, const std::vector<SizingAnswer>& answers,
                               const std::vector<std::string>& stated) {
  const auto assumed = [&](const char* key) { return std::ranges::find(stated, key) == stated.end(); };
  Assumptions out;
  out.push_back({"mtbf", fmt::format("a failure per {:.0f} device-hours", machine.mtbf_hours),
                 "--mtbf-per-gpu", "", assumed("mtbf")});
  if (machine.checkpoint)
    out.push_back(
        {"checkpoint", "checkpoints of " + core::show(*machine.checkpoint), "--checkpoint", "", false});
  else
    out.push_back({"storage",
                   fmt::format("checkpoints at {:.3g} GB/s per node", machine.storage.value() * 1e-9),
                   "--storage", "", assumed("storage")});
  out.push_back(
      {"restart", "restarts of " + core::show(machine.restart), "--restart", "", assumed("restart")});
  if (machine.margin) {
    out.push_back({"margin", "margin " + core::show_share(*machine.margin), "--margin", "", false});
  } else {
    for (const SizingAnswer& answer : answers)
      if (!answer.tried.empty() && !answer.tried.front().measured)
        out.push_back(
            {"margin_" + answer.gpus,
             fmt::format("margin {} for {}, the largest error of any type: no runs of it were predicted",
                         core::show_share(answer.tried.front().margin), answer.gpus),
             "--margin", "", true});
  }
  out.push_back(
      {"node_overhead",
       fmt::format("all devices at data-sheet power, {:.0f} % more for the rest of a node, none for cooling",
                   machine.node_overhead * 100),
       "--node-overhead", "", assumed("node_overhead")});
  return out;
}

std::string sizing_table(const SizingReport& report, const report::ScreenLimits& screen) {
  report::Table table({{"answer"},
                       {"cluster"},
                       {"devices", Align::right},
                       {.title = "days (with margin)", .align = Align::right},
                       {"cost", Align::right},
                       {"energy", Align::right, 2},
                       {"restarts", Align::right, 2},
                       {"MFU", Align::right, 1},
                       {.title = "plan", .folds = true}});
  const bool goal = has_goal(report.goal);
  std::string lines;
  for (const SizingAnswer& answer : report.answers) {
    for (std::size_t at = 0; at < answer.tried.size(); ++at) {
      if (screen.columns > 0 && !is_answer(answer, at, goal)) continue;
      const SizedCluster& found = answer.tried[at];
      const report::CellResult& row = found.outcome.row;
      table.add({role(answer, at, goal), found.cluster, std::to_string(found.devices), days_text(found),
                 found.dollars ? money(*found.dollars) : "-",
                 found.megawatt_hours ? energy(*found.megawatt_hours) : "-",
                 fmt::format("{:.0f}", found.restarts), row.mfu ? core::show_share(*row.mfu) : "-",
                 row.strategy.value_or("-")});
    }
    lines += answer_lines(answer, goal);
  }
  return goal_text(report) + "\n" + table.text(screen) + lines + in_words(report.assumptions) + "\n";
}

std::string sizing_csv(const SizingReport& report) {
  std::string out =
      "gpus,cluster,devices,nodes,answer,days,least_days,most_days,dollars,megawatt_hours,restarts,goodput,tokens_per_s,mfu,"
      "mini_batch,strategy\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
  };
  for (const SizingAnswer& answer : report.answers)
    for (std::size_t at = 0; at < answer.tried.size(); ++at) {
      const SizedCluster& found = answer.tried[at];
      const report::CellResult& row = found.outcome.row;
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted(answer.gpus),
                         quoted(found.cluster), found.devices, found.nodes,
                         quoted(role(answer, at, has_goal(report.goal))), found.days, found.least_days(),
                         found.most_days(), number(found.dollars), number(found.megawatt_hours),
                         found.restarts, found.goodput, number(row.tokens_per_s), number(row.mfu),
                         row.mini_batch, quoted(row.strategy.value_or("")));
    }
  return out;
}

std::string sizing_json(const SizingReport& report, const report::Provenance& provenance) {
  SizingJson out = {{"provenance", SizingJson::parse(report::to_json(provenance))},
                    {"model", report.model},
                    {"goal",
                     {{"tokens", report.goal.tokens},
                      {"days", report.goal.days ? SizingJson(*report.goal.days) : SizingJson()},
                      {"dollars", report.goal.dollars ? SizingJson(*report.goal.dollars) : SizingJson()}}},
                    {"answers", SizingJson::array()}};
  for (const SizingAnswer& answer : report.answers) {
    SizingJson one = {{"gpus", answer.gpus},
                      {"smallest", index_or_null(answer, answer.smallest)},
                      {"cheapest", index_or_null(answer, answer.cheapest)},
                      {"note", answer.note},
                      {"costs", answer.costs},
                      {"complete", answer.complete},
                      {"tried", SizingJson::array()}};
    for (const SizedCluster& found : answer.tried) one["tried"].push_back(to_json(found));
    out["answers"].push_back(std::move(one));
  }
  out["assumptions"] = to_json(report.assumptions);
  return out.dump(2) + "\n";
}

std::string sizing_svg(const SizingReport& report) {
  report::LogChart chart{goal_text(report), "devices", "days, with failures", {}};
  double fewest = 0, most = 0;
  for (const SizingAnswer& answer : report.answers) {
    report::ChartSeries series{answer.gpus, {}, {}};
    for (const SizedCluster& found : answer.tried) {
      if (!std::isfinite(found.days)) continue;
      const auto devices = static_cast<double>(found.devices);
      series.points.emplace_back(devices, found.days);
      fewest = fewest == 0 ? devices : std::min(fewest, devices);
      most = std::max(most, devices);
    }
    series.line = series.points;
    if (answer.smallest) {
      const SizedCluster& found = answer.tried[*answer.smallest];
      series.name = fmt::format("{}: {} in {:.1f} days", answer.gpus, found.devices, found.days);
    }
    chart.series.push_back(std::move(series));
  }
  if (report.goal.days && most > 0)
    chart.series.push_back({fmt::format("{:g} days", *report.goal.days),
                            {},
                            {{fewest, *report.goal.days}, {std::max(most, fewest * 2), *report.goal.days}}});
  return most > 0 ? report::log_chart_svg(chart) : "";
}

}  // namespace penstock::experiment
