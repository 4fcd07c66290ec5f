#include "fault_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

using core::show;
using core::show_share;
using report::Align;

std::string share(core::Seconds part, const jobs::JobOutcome& life) {
  return show_share(part / life.wall);
}

}  // namespace

std::string fault_table(const FaultReport& report, const report::ScreenLimits& screen) {
  report::Table table({{"policy"},
                       {"goodput", Align::right},
                       {"closed form", Align::right},
                       {"samples/s", Align::right},
                       {"lost work", Align::right, 1},
                       {"checkpoints", Align::right, 2},
                       {"restarts", Align::right, 2},
                       {"waiting", Align::right, 2},
                       {"fewer replicas", Align::right, 1},
                       {.title = "note", .folds = true}});
  for (const FaultRow& row : report.rows) {
    const std::string policy(jobs::name(row.policy));
    if (!row.life) {
      table.add({policy, "", row.closed_form ? show_share(*row.closed_form) : "", "", "", "", "", "", "",
                 row.note});
      continue;
    }
    const jobs::JobOutcome& life = *row.life;
    table.add({policy, show_share(life.goodput()), row.closed_form ? show_share(*row.closed_form) : "-",
               fmt::format("{:.1f}", report.samples_per_s * life.goodput()), share(life.lost, life),
               share(life.checkpoints, life), share(life.restarts, life), share(life.waiting, life),
               share(life.shrunk, life), row.note});
  }
  return fmt::format(
      "a failure every {}: {} for a checkpoint after every {} of work, {} to restart; a failed node takes out {} of {} "
      "replicas; {} failures simulated, seed {}\n{}",
      show(report.setting.costs.mtbf), show(report.setting.costs.checkpoint), show(report.interval),
      show(report.setting.costs.restart), report.lost, report.replicas, report.setting.failures,
      report.setting.seed, table.text(screen));
}

nlohmann::ordered_json fault_json(const FaultReport& report) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const FaultRow& row : report.rows) {
    Json one = {{"policy", jobs::name(row.policy)},
                {"goodput", row.life ? Json(row.life->goodput()) : Json()},
                {"closed_form", row.closed_form ? Json(*row.closed_form) : Json()}};
    if (row.life) {
      const jobs::JobOutcome& life = *row.life;
      one["samples_per_s"] = report.samples_per_s * life.goodput();
      one["wall_s"] = life.wall.value();
      one["lost_s"] = life.lost.value();
      one["checkpoints_s"] = life.checkpoints.value();
      one["restarts_s"] = life.restarts.value();
      one["waiting_s"] = life.waiting.value();
      one["fewer_replicas_s"] = life.shrunk.value();
      one["failures"] = life.failures;
    }
    if (!row.note.empty()) one["note"] = row.note;
    rows.push_back(std::move(one));
  }
  return {{"mtbf_s", report.setting.costs.mtbf.value()},
          {"checkpoint_s", report.setting.costs.checkpoint.value()},
          {"restart_s", report.setting.costs.restart.value()},
          {"interval_s", report.interval.value()},
          {"replicas", report.replicas},
          {"replicas_lost_by_a_failure", report.lost},
          {"seed", report.setting.seed},
          {"policies", std::move(rows)}};
}

}  // namespace penstock::experiment
