#include <fmt/format.h>

#include <cmath>
#include <map>

#include "agreement.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/difference.hpp"
#include "penstock/report/table.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

using shown::time;

std::vector<std::string> cells(const ReplayRow& row) {
  return {row.plan,
          std::to_string(row.devices),
          row.schedule,
          row.manner,
          time(row.measured.median),
          fmt::format("{:.1f} %", row.measured.noise() * 100),
          time(row.simulated_s),
          difference(row.error()),
          shown::rounded_bytes(row.peak.measured),
          shown::rounded_bytes(row.peak.simulated),
          difference(row.peak.error()),
          row.noisy() ? "noisy" : ""};
}

std::string body(const std::vector<ReplayRow>& rows, const ScreenLimits& screen) {
  const Align right = Align::right;
  Table table({{.title = "plan", .folds = true},
               {"devices", right, 3},
               {"schedule", Align::left, 2},
               {"manner", Align::left, 1},
               {"measured", right},
               {"+-", right},
               {"simulated", right},
               {"error", right},
               {"peak", right, 5},
               {"simulated", right, 4},
               {"error", right, 6},
               {""}});
  for (const ReplayRow& row : rows) table.add(cells(row));
  return table.text(screen);
}

/// Returns a text such as "44 plans: iteration time off by 2.3 % in the mean, -7.1 % at worst; peak memory by
/// ...".
std::string in_words(const std::string& which, const ValidationAgreement& a) {
  return fmt::format(
      "{}: iteration time off by {:.1f} % in the mean, {} at worst; peak memory by {:.1f} % and {}\n", which,
      a.time.mean_error * 100, difference(a.time.worst), a.peak.mean_error * 100, difference(a.peak.worst));
}

std::string counted(std::int64_t count) {
  return fmt::format("{} plan{}", count, count == 1 ? "" : "s");
}

std::string accuracy(const std::vector<ReplayRow>& rows) {
  const ValidationAgreement all = agreement(rows);
  std::string out = in_words(counted(all.plans), all);
  if (all.noisy == 0) return out;
  std::vector<ReplayRow> quiet;
  for (const ReplayRow& row : rows)
    if (!row.noisy()) quiet.push_back(row);
  out +=
      fmt::format("{} noisy: the repeats tell the median no better than {:.0f} %\n", all.noisy, kNoisy * 100);
  if (!quiet.empty()) out += in_words(fmt::format("the other {}", quiet.size()), agreement(quiet));
  return out;
}

std::string rankings(const std::vector<ReplayRow>& rows) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<ReplayRow>> groups;
  for (const ReplayRow& row : rows) groups[{row.model, row.devices}].push_back(row);
  std::string out;
  const auto line = [&out](const std::string& which, const ValidationAgreement& a) {
    if (!std::isnan(a.tau))
      out += fmt::format("Kendall's tau {:.2f}: {}, {}\n", a.tau, which, counted(a.plans));
  };
  line("all", agreement(rows));
  if (groups.size() < 2) return out;
  for (const auto& [problem, group] : groups)
    line(fmt::format("{} on {} device{}", problem.first, problem.second, problem.second == 1 ? "" : "s"),
         agreement(group));
  return out;
}

}  // namespace

ValidationAgreement agreement(std::span<const ReplayRow> rows) {
  ValidationAgreement out;
  std::vector<double> time, peak, measured, simulated;
  for (const ReplayRow& row : rows) {
    ++out.plans;
    out.noisy += row.noisy();
    time.push_back(row.error());
    peak.push_back(row.peak.error());
    measured.push_back(row.measured.median);
    simulated.push_back(row.simulated_s);
  }
  out.time = trace::accuracy(time);
  out.peak = trace::accuracy(peak);
  out.tau = core::kendall_tau(measured, simulated);
  return out;
}

std::string replay_table(const ReplayTable& table, const ScreenLimits& screen) {
  std::string out = body(table.rows, screen);
  if (!table.rows.empty()) out += '\n' + accuracy(table.rows) + rankings(table.rows);
  if (!table.left_out.empty()) out += fmt::format("\n{} left out:\n", counted(std::ssize(table.left_out)));
  for (const LeftOut& left : table.left_out) out += fmt::format("  {}: {}\n", left.plan, left.reason);
  return out;
}

}  // namespace penstock::report
