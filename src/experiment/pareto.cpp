#include "penstock/experiment/pareto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "penstock/cluster/price.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/report/pareto.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

/// Allowed slow-downs of plans with less memory.
constexpr std::array kSlower = {0.05, 0.1, 0.25, 0.5, 1.0};

bool priced(const cluster::Cluster& cluster) {
  return std::ranges::all_of(
      cluster.devices(), [&](const cluster::Device& d) { return cluster.types()[d.type].price.has_value(); });
}

class ParetoSearch {
 public:
  ParetoSearch(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
               core::StopToken stop, const std::function<void(const report::CellResult&)>& told)
      : problem_(problem), cell_(cell), setting_(setting), stop_(stop), told_(told) {}

  ParetoPlans run() {
    std::exception_ptr error;  // error for the most devices
    for (const int count : device_counts(problem_.cluster.size())) {
      try {
        search_on(count);
      } catch (const core::LimitHit&) {
        if (!error) error = std::current_exception();
        found_.complete = false;
      } catch (const core::Infeasible&) {
        if (!error) error = std::current_exception();
      }
    }
    if (found_.plans.empty()) std::rethrow_exception(error);
    return std::move(found_);
  }

 private:
  void search_on(int count) {
    cell_.cluster.devices = count;
    const cluster::Cluster cluster = problem_.cluster.first(count);
    const cost::Problem part{problem_.graph, cluster, problem_.costs, problem_.training, problem_.memory};
    SearchSetting setting = setting_;
    Cell cell = cell_;
    plan::Plan from = searched(part, cell, setting);
    const auto last = [&] { return core::Seconds(*found_.plans.back().outcome.row.iteration_s); };
    const core::Seconds fastest = last();
    if (plan::has_colocated(from)) {  // no move changes colocated stages
      cell.planner.options["colocated"] = "never";
      from = searched(part, cell, setting);
    }
    for (const double slower : kSlower) {
      if (last() > fastest * (1 + slower)) continue;
      setting.options.from = &from;
      setting.options.least_memory_within = fastest * (1 + slower);
      plan::Plan next = searched(part, cell, setting);
      from = std::move(next);
    }
  }

  /// Searches and stores the plan found.
  plan::Plan searched(const cost::Problem& part, const Cell& cell, const SearchSetting& setting) {
    CellOutcome outcome = search(part, cell, setting, stop_);
    if (outcome.row.status != "ok") found_.complete = false;
    std::optional<double> dollars;
    if (priced(part.cluster))
      dollars = cluster::sample_price(part.cluster, core::Seconds(*outcome.row.iteration_s),
                                      part.training.mini_batch);
    plan::Plan out = *outcome.plan;
    found_.plans.push_back({std::move(outcome), dollars});
    if (told_) told_(found_.plans.back().outcome.row);
    return out;
  }

  const cost::Problem& problem_;
  Cell cell_;
  const SearchSetting& setting_;
  core::StopToken stop_;
  const std::function<void(const report::CellResult&)>& told_;
  ParetoPlans found_;
};

/// Time, memory, devices, dollars; all are minimised.
std::vector<double> point(const ParetoPlan& plan) {
  const report::CellResult& row = plan.outcome.row;
  return {*row.iteration_s, static_cast<double>(*row.peak_memory_bytes), static_cast<double>(row.devices),
          plan.dollars.value_or(0)};
}

bool before(const ParetoPlan& a, const ParetoPlan& b) {
  const report::CellResult &left = a.outcome.row, &right = b.outcome.row;
  return std::pair(left.devices, *left.iteration_s) < std::pair(right.devices, *right.iteration_s);
}

}  // namespace

ParetoPlans pareto_search(const cost::Problem& problem, const Cell& cell, SearchSetting setting,
                          core::StopToken stop, const std::function<void(const report::CellResult&)>& told) {
  check_aim(SearchAim::memory, cell.planner, setting.options.judge_by_estimate);
  if (setting.time_limit) stop = stop.within(*setting.time_limit);
  setting.time_limit.reset();
  ParetoPlans out = ParetoSearch(problem, cell, setting, stop, told).run();
  out.interrupted = !out.complete && stop.ended();
  std::ranges::stable_sort(out.plans, before);
  std::vector<std::vector<double>> points;
  for (const ParetoPlan& plan : out.plans) points.push_back(point(plan));
  for (const std::size_t at : report::pareto_front(points)) out.plans[at].front = true;
  return out;
}

std::size_t most_pareto_plans(std::size_t devices) {
  return device_counts(devices).size() * (2 + kSlower.size());
}

std::string pareto_table(const ParetoPlans& found, const report::ScreenLimits& screen) {
  const auto right = report::Align::right;
  const bool prices =
      std::ranges::any_of(found.plans, [](const ParetoPlan& p) { return p.dollars.has_value(); });
  std::vector<report::Column> columns = {
      {"plan", right}, {"devices", right}, {"iteration", right}, {"samples/s", right, 1}, {"memory", right}};
  if (prices) columns.push_back({"per million samples", right});
  columns.push_back({.title = "strategy", .folds = true});
  report::Table table(columns);
  for (std::size_t number = 0; const ParetoPlan& plan : found.plans) {
    if (!plan.front) continue;
    const report::CellResult& row = plan.outcome.row;
    std::vector<std::string> cells = {
        std::to_string(++number), std::to_string(row.devices), core::show(core::Seconds(*row.iteration_s)),
        fmt::format("{:.1f}", *row.samples_per_s), core::show(core::Bytes(*row.peak_memory_bytes))};
    if (prices) cells.push_back(plan.dollars ? show_dollars(*plan.dollars * 1e6) : "-");
    cells.push_back(row.strategy.value_or("-"));
    table.add(std::move(cells));
  }
  return table.text(screen);
}

std::string pareto_picture(const ParetoPlans& found) {
  std::vector<report::ParetoPoint> points;
  for (std::size_t number = 0; const ParetoPlan& plan : found.plans)
    points.push_back({plan.outcome.row, plan.front, plan.front ? std::to_string(++number) : ""});
  const report::CellResult& row = found.plans.back().outcome.row;
  return report::pareto_svg(points, fmt::format("{} on {}, mini-batch {}: what can be traded for what",
                                                row.model, row.cluster, row.mini_batch));
}

}  // namespace penstock::experiment
