#include "penstock/report/published_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "csv.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/statistics.hpp"

namespace penstock::report {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct PredictionPair {
  double measured, predicted;
};

double tau_of(const std::vector<PredictionPair>& group) {
  std::vector<double> a, b;
  for (const PredictionPair& pair : group) {
    a.push_back(pair.measured);
    b.push_back(pair.predicted);
  }
  return core::kendall_tau(a, b);
}

/// Regret of a group; among equal predictions the first run is chosen.
double regret_of(const std::vector<PredictionPair>& group) {
  const auto chosen = std::min_element(
      group.begin(), group.end(),
      [](const PredictionPair& a, const PredictionPair& b) { return a.predicted < b.predicted; });
  const auto best = std::min_element(
      group.begin(), group.end(),
      [](const PredictionPair& a, const PredictionPair& b) { return a.measured < b.measured; });
  return chosen->measured / best->measured - 1;
}

PublishedErrors errors_of(const std::string& set,
                          const std::vector<const PublishedPrediction*>& predictions) {
  PublishedErrors out;
  out.set = set;
  out.runs = predictions.size();
  std::vector<double> errors, sizes, memory;
  std::map<std::string, std::vector<PredictionPair>> groups;
  for (const PublishedPrediction* p : predictions) {
    errors.push_back(p->seconds / p->run->measured_s - 1);
    sizes.push_back(std::abs(errors.back()));
    if (p->run->measured_gib) memory.push_back(std::abs(p->gib / *p->run->measured_gib - 1));
    groups[p->run->group].push_back({p->run->measured_s, p->seconds});
  }
  out.bias = mean(errors);
  out.mean = mean(sizes);
  std::sort(sizes.begin(), sizes.end());
  constexpr double kHalf = 0.5, kMostOfThem = 0.9;
  out.median = core::quantile(sizes, kHalf);
  out.p90 = core::quantile(sizes, kMostOfThem);
  out.worst = sizes.back();
  std::vector<double> taus, regrets;
  for (const auto& [name, group] : groups) {
    if (group.size() < 2) continue;
    regrets.push_back(regret_of(group));
    if (const double tau = tau_of(group); !std::isnan(tau)) taus.push_back(tau);
  }
  if (!taus.empty()) out.tau = mean(taus);
  if (!regrets.empty()) out.regret = mean(regrets);
  out.memory_runs = memory.size();
  if (!memory.empty()) out.memory = mean(memory);
  return out;
}

template <class Shown>
std::string or_dash(const std::optional<double>& value, const Shown& shown) {
  return value ? shown(*value) : "-";
}

}  // namespace

std::vector<PublishedErrors> published_errors(std::span<const PublishedPrediction> predictions) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const PublishedPrediction*>> sets;
  for (const PublishedPrediction& p : predictions) {
    if (!sets.contains(p.run->set)) order.push_back(p.run->set);
    sets[p.run->set].push_back(&p);
  }
  std::vector<PublishedErrors> out;
  for (const std::string& set : order) out.push_back(errors_of(set, sets[set]));
  return out;
}

std::string published_errors_table(const std::vector<PublishedErrors>& errors, const ScreenLimits& screen) {
  const Align right = Align::right;
  Table table({{.title = "set"},
               {"runs", right},
               {"mean error", right},
               {"median", right, 3},
               {"p90", right, 4},
               {"worst", right, 2},
               {"bias", right},
               {"tau", right},
               {"regret", right},
               {"memory", right, 1}});
  for (const PublishedErrors& e : errors)
    table.add({e.set, std::to_string(e.runs), core::show_share(e.mean), core::show_share(e.median),
               core::show_share(e.p90), core::show_share(e.worst), fmt::format("{:+.1f} %", e.bias * 100),
               or_dash(e.tau, [](double tau) { return fmt::format("{:.2f}", tau); }),
               or_dash(e.regret, core::show_share), or_dash(e.memory, core::show_share)});
  return table.text(screen);
}

std::string predictions_csv(const Rungs& rungs) {
  const auto error = [](const PublishedPrediction& p) {
    return p.run->measured_s > 0 ? fmt::format("{:.6g}", p.seconds / p.run->measured_s - 1) : "";
  };
  std::string out = "set,id,devices,costs,predicted_s,error,predicted_gib\n";
  for (const auto& [costs, predictions] : rungs)
    for (const PublishedPrediction& p : predictions)
      out += fmt::format("{},{},{},{},{:.6g},{},{:.6g}\n", csv_cell(p.run->set), csv_cell(p.run->id),
                         p.run->devices, csv_cell(costs), p.seconds, error(p), p.gib);
  return out;
}

std::string published_errors_csv(const Rungs& rungs) {
  std::string out = "costs,set,runs,mean,median,p90,worst,bias,tau,regret,memory_runs,memory\n";
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  for (const auto& [costs, predictions] : rungs)
    for (const PublishedErrors& e : published_errors(predictions))
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(costs), csv_cell(e.set), e.runs,
                         number(e.mean), number(e.median), number(e.p90), number(e.worst), number(e.bias),
                         e.tau ? number(*e.tau) : "", e.regret ? number(*e.regret) : "", e.memory_runs,
                         e.memory ? number(*e.memory) : "");
  return out;
}

}  // namespace penstock::report
