#include "penstock/experiment/sizing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "node_search.hpp"
#include "penstock/cluster/power.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/cost/training_state.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/graph/work.hpp"

namespace penstock::experiment {
namespace {

constexpr double kHour = 3600, kDay = 86'400;  // seconds

std::int64_t odd_factor(std::int64_t count) {
  return count >> std::countr_zero(static_cast<std::uint64_t>(count));
}

std::int64_t nodes_of(const cluster::Cluster& cluster) {
  std::set<int> nodes;
  for (const cluster::Device& device : cluster.devices()) nodes.insert(device.node);
  return static_cast<std::int64_t>(nodes.size());
}

/// Sum over devices; none if a type has no value.
template <class ValueOf>
std::optional<double> summed(const cluster::Cluster& cluster, const ValueOf& value_of) {
  double out = 0;
  for (const cluster::Device& device : cluster.devices()) {
    const std::optional<double> value = value_of(cluster.types()[device.type]);
    if (!value) return {};
    out += *value;
  }
  return out;
}

std::optional<double> price_of(const cluster::DeviceType& type, const SizingMachine& machine) {
  const auto given = machine.prices.find(core::lower_case(type.name));
  return given == machine.prices.end() ? type.price : std::optional(given->second);
}

std::optional<double> watts_of(const cluster::DeviceType& type) {
  const auto power = cluster::data_sheet_power(type.name);
  return power ? std::optional(power->watts) : std::nullopt;
}

/// Largest error that is expected of a type's times. Only the built-in curves have errors that were measured.
void set_margin(const cost::Problem& problem, const SizingMachine& machine, SizedCluster& out) {
  const bool curves = dynamic_cast<const cost::CurveCosts*>(&problem.costs) != nullptr;
  out.measured = curves;
  for (const cluster::DeviceType& type : problem.cluster.types()) {
    const auto known = curves ? cost::prediction_error(type) : std::nullopt;
    out.margin = std::max(out.margin, known ? known->mean : cost::largest_prediction_error());
    out.measured = out.measured && known;
  }
  out.margin = machine.margin.value_or(out.margin);
}

void set_failures(const cost::Problem& problem, const SizingMachine& machine, SizedCluster& out) {
  const core::Seconds written =
      cost::checkpoint_bytes(problem) / (machine.storage * static_cast<double>(out.nodes));
  out.failures = {core::Seconds(machine.mtbf_hours * kHour / static_cast<double>(out.devices)),
                  machine.checkpoint.value_or(written), machine.restart};
  out.interval = jobs::daly_interval(out.failures);
  out.goodput = jobs::goodput(out.failures, out.interval);
}

/// Searches for one kind of device, on clusters of several sizes.
class SizingSearch {
 public:
  SizingSearch(const SizingProblem& problem, const SizingGoal& goal, const SizingMachine& machine,
               const SizingPlanners& planners, const SearchSetting& setting, core::StopToken stop,
               const SizingProgress& told)
      : problem_(problem),
        goal_(goal),
        machine_(machine),
        planners_(planners),
        setting_(setting),
        stop_(stop),
        told_(told) {
    answer_.gpus = problem.gpus;
  }

  SizingAnswer on_whole_nodes() {
    const cluster::RentedGpu& gpu = *cluster::parse_short_form("1x" + problem_.gpus)->type;
    const auto name = [&gpu](int nodes) { return fmt::format("{}x{}x{}", gpu.most, gpu.name, nodes); };
    constexpr int kMostDevices = 16'384;  // of a short form
    const auto enough_by = [&](const planners::PlannerChoice& planner) {
      return [&, planner](int nodes) { return in_time(tried(name(nodes), planner)); };
    };
    until_limit([&] {
      const auto nodes =
          least_nodes(first_guess(name(1)), kMostDevices / gpu.most, enough_by(planners_.fast));
      if (answer_.tried.empty()) return;
      const auto fastest = std::ranges::min_element(answer_.tried, {}, &SizedCluster::days);
      const TriedIndex last = tried(nodes ? name(*nodes) : fastest->cluster, planners_.last);
      if (!in_time(last)) return;
      const SizedCluster& found = answer_.tried[*last];
      const int most = static_cast<int>(found.nodes);
      if (!next_lower_count(most) || !hopeful(found, *next_lower_count(most))) return;
      const double fewer = found.most_days() / *goal_.days * static_cast<double>(found.nodes);
      least_nodes(static_cast<int>(std::ceil(fewer)), most, enough_by(planners_.last));
    });
    return finished();
  }

  SizingAnswer on_one() {
    until_limit([&] {
      tried(problem_.gpus, planners_.fast);
      tried(problem_.gpus, planners_.last);
    });
    return finished();
  }

 private:
  using TriedIndex = std::optional<std::size_t>;  ///< into SizingAnswer::tried

  /// Nodes at a usual model FLOPs utilisation, without failures.
  int first_guess(const std::string& one_node) const {
    constexpr double kUsual = 0.4;
    const cluster::Cluster node = load(one_node).first;
    const double samples = goal_.tokens / static_cast<double>(graph::tokens(problem_.graph).value_or(1)),
                 work = graph::training_flops(problem_.graph).value() * samples,
                 rate = cost::peak_rate(problem_.graph, node).value() * kUsual;
    return static_cast<int>(std::clamp(work / rate / (*goal_.days * kDay), 1.0, 16'384.0));
  }

  std::pair<cluster::Cluster, Cell> load(const std::string& name) const {
    Cell cell = problem_.cell;
    cell.cluster.name = name;
    cell.cluster.devices = 0;
    cluster::Cluster cluster = cost::measured_by(problem_.costs, load_cluster(cell.cluster));
    cell.cluster.devices = static_cast<int>(cluster.size());
    cell.training.mini_batch = problem_.samples(cell.cluster.devices);
    return {std::move(cluster), std::move(cell)};
  }

  /// Plans on the cluster; the faster plan stays if it was tried before. None if no plan fits.
  TriedIndex tried(const std::string& name, const planners::PlannerChoice& planner) {
    auto& all = answer_.tried;
    const auto at =
        static_cast<std::size_t>(std::ranges::find(all, name, &SizedCluster::cluster) - all.begin());
    if (!searched_.emplace(name, written(planner)).second)
      return at == all.size() ? std::nullopt : TriedIndex(at);
    auto [cluster, cell] = load(name);
    cell.planner = planner;
    const cost::Problem problem{problem_.graph, cluster, problem_.costs, cell.training};
    if (told_) told_(fmt::format("{} by {}", name, planner.name));
    try {
      SearchSetting setting = setting_;
      setting.options.any_degree = odd_factor(cell.cluster.devices) > 1;
      SizedCluster found = sized_cluster(problem, search(problem, cell, setting, stop_), goal_, machine_);
      found.cluster = name;
      if (found.outcome.row.status != "ok") answer_.complete = false;
      answer_.costs = problem_.costs.source_on(cluster);
      if (at == all.size())
        all.push_back(std::move(found));
      else if (found.days < all[at].days)
        all[at] = std::move(found);
    } catch (const core::Infeasible& e) {
      if (all.empty()) answer_.note = fmt::format("{}: {}", name, e.what());
    }
    return at == all.size() ? std::nullopt : TriedIndex(at);
  }

  bool in_time(TriedIndex found) const {
    return found && answer_.tried[*found].meets({.tokens = goal_.tokens, .days = goal_.days});
  }

  /// True if fewer nodes would be in time at the speed per device of this cluster.
  bool hopeful(const SizedCluster& found, int nodes) const {
    return found.most_days() * static_cast<double>(found.nodes) <= *goal_.days * static_cast<double>(nodes);
  }

  template <class Search>
  void until_limit(const Search& search) {
    try {
      search();
    } catch (const core::LimitHit&) {
      answer_.complete = false;
    }
  }

  /// Reason why no cluster that was tried meets the goal.
  std::string failure_note() const {
    const SizedCluster* cheapest = nullptr;
    for (std::size_t at = 0; at < answer_.tried.size(); ++at) {
      const SizedCluster& found = answer_.tried[at];
      if (found.dollars && in_time(at) && (!cheapest || *found.dollars < *cheapest->dollars))
        cheapest = &found;
    }
    if (cheapest)
      return fmt::format(
          "no cluster that was tried meets the goal; {} is in time, and with the margin costs ${:.3g}",
          cheapest->cluster, *cheapest->dollars * (1 + cheapest->margin));
    const auto& fastest = *std::ranges::min_element(answer_.tried, {}, &SizedCluster::days);
    return fmt::format(
        "no cluster that was tried meets the goal; {} is the fastest, with {:.1f} to {:.1f} days",
        fastest.cluster, fastest.least_days(), fastest.most_days());
  }

  SizingAnswer finished() {
    auto& tried = answer_.tried;
    std::ranges::sort(tried, {}, &SizedCluster::devices);
    for (std::size_t at = 0; at < tried.size(); ++at) {
      if (!tried[at].meets(goal_)) continue;
      if (!answer_.smallest) answer_.smallest = at;
      if (tried[at].dollars && (!answer_.cheapest || *tried[at].dollars < *tried[*answer_.cheapest].dollars))
        answer_.cheapest = at;
    }
    if (!tried.empty()) answer_.note.clear();
    if (!answer_.smallest && !tried.empty()) answer_.note = failure_note();
    return std::move(answer_);
  }

  const SizingProblem& problem_;
  const SizingGoal& goal_;
  const SizingMachine& machine_;
  const SizingPlanners& planners_;
  const SearchSetting& setting_;
  core::StopToken stop_;
  const SizingProgress& told_;
  SizingAnswer answer_;
  std::set<std::pair<std::string, std::string>> searched_;  ///< clusters and planners
};

}  // namespace

bool SizedCluster::meets(const SizingGoal& goal) const {
  return std::isfinite(days) && (!goal.days || most_days() <= *goal.days) &&
         (!goal.dollars || (dollars && *dollars * (1 + margin) <= *goal.dollars));
}

std::int64_t shared_samples(std::int64_t samples, std::int64_t devices) {
  constexpr std::int64_t kOff = 8;  // an eighth
  if (devices <= samples) return samples;
  std::int64_t out = samples;
  for (std::int64_t step = odd_factor(devices); step <= 2 * samples && devices % step == 0; step *= 2) {
    const std::int64_t near = (samples + step / 2) / step * step;
    if (std::abs(near - samples) * kOff <= samples) out = near;
  }
  return out;
}

SizedCluster sized_cluster(const cost::Problem& problem, CellOutcome outcome, const SizingGoal& goal,
                           const SizingMachine& machine) {
  SizedCluster out{.cluster = problem.cluster.name(),
                   .devices = static_cast<std::int64_t>(problem.cluster.size()),
                   .nodes = nodes_of(problem.cluster),
                   .outcome = std::move(outcome)};
  set_margin(problem, machine, out);
  set_failures(problem, machine, out);
  const double rate = out.outcome.row.tokens_per_s.value_or(0) * out.goodput;
  const double seconds = rate > 0 ? goal.tokens / rate : std::numeric_limits<double>::infinity();
  out.days = seconds / kDay;
  out.restarts = seconds / out.failures.mtbf.value();
  const auto hourly = summed(problem.cluster, [&](const auto& type) { return price_of(type, machine); });
  if (hourly) out.dollars = *hourly * seconds / kHour;
  const auto watts = summed(problem.cluster, watts_of);
  if (watts) out.megawatt_hours = *watts * (1 + machine.node_overhead) * 1e-6 * seconds / kHour;
  return out;
}

SizingAnswer size_clusters(const SizingProblem& problem, const SizingGoal& goal, const SizingMachine& machine,
                           const SizingPlanners& planners, const SearchSetting& setting, core::StopToken stop,
                           const SizingProgress& told) {
  return SizingSearch(problem, goal, machine, planners, setting, stop, told).on_whole_nodes();
}

SizingAnswer size_cluster(const SizingProblem& problem, const SizingGoal& goal, const SizingMachine& machine,
                          const SizingPlanners& planners, const SearchSetting& setting, core::StopToken stop,
                          const SizingProgress& told) {
  return SizingSearch(problem, goal, machine, planners, setting, stop, told).on_one();
}

}  // namespace penstock::experiment
