#include "least_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/cost/alike_operators.hpp"
#include "penstock/cost/backward_sweep.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/attention_core.hpp"

namespace penstock::score {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr Work kNoWork{kInfinite, kInfinite};
constexpr LeastTimes kNone{kInfinite, kInfinite, kInfinite, kInfinite,
                           kInfinite, kInfinite, kNoWork,   kNoWork};
constexpr DividedTimes kNotDivided{kInfinite, kInfinite, kInfinite, kNoWork};
constexpr std::array kWays{plan::Partition::batch, plan::Partition::column, plan::Partition::row,
                           plan::Partition::sequence};

void lower(double& value, double other) {
  value = std::min(value, other);
}

void lower(Work& work, const Work& other) {
  lower(work.all, other.all);
  lower(work.backward, other.backward);
}

Work scaled(double by, const Work& work) {
  return {by * work.all, by * work.backward};
}

Work larger(const Work& a, const Work& b) {
  return {std::max(a.all, b.all), std::max(a.backward, b.backward)};
}

Work rate_of(const cost::OpTime& time, std::int64_t samples) {
  return scaled(1 / static_cast<double>(samples), {time.total().value(), time.backward().value()});
}

void lower_passes(auto& to, double forward, double input_gradient, double weight_gradient) {
  lower(to.forward, forward);
  lower(to.input_gradient, input_gradient);
  lower(to.weight_gradient, weight_gradient);
}

std::vector<std::size_t> types_in_use(const cluster::Cluster& cluster) {
  std::set<std::size_t> types;
  for (const cluster::Device& device : cluster.devices()) types.insert(device.type);
  return {types.begin(), types.end()};
}

bool no_more(const Work& a, const Work& b) {
  return a.all <= b.all && a.backward <= b.backward;
}

bool no_more(const Division& a, const Division& b) {
  return no_more(a.work, b.work) && a.down <= b.down && a.up <= b.up;
}

bool no_more(const DividedTimes& a, const DividedTimes& b) {
  return no_more(a.work, b.work) && a.forward <= b.forward && a.input_gradient <= b.input_gradient &&
         a.weight_gradient <= b.weight_gradient;
}

/// Leaves out divisions that another one beats for every weight of a relaxation: there, costs are linear in the
/// weights of the ways down and up, so that one who loses at the three corners loses everywhere. The corners are
/// only work; the way down with the backward work behind it; the whole way.
std::vector<Division> not_beaten(std::vector<Division> all, double leads) {
  constexpr double kRounding = 1 - 1e-12;
  std::ranges::sort(all, {}, [](const Division& d) { return d.work.all; });
  std::map<double, double> front;  // least whole way of those before, by their way down; descending
  std::vector<Division> out;
  for (const Division& each : all) {
    const double down = leads * each.work.backward + each.down, whole = each.down + each.up;
    const auto above = front.upper_bound(down * kRounding);
    if (above != front.begin() && std::prev(above)->second <= whole * kRounding) continue;
    out.push_back(each);
    auto after = front.lower_bound(down);
    if (after != front.begin() && std::prev(after)->second <= whole) continue;
    while (after != front.end() && after->second >= whole) after = front.erase(after);
    if (after == front.end() || after->first != down) front.emplace_hint(after, down, whole);
  }
  return out;
}

/// True if no other way is better; among equals, for the first.
bool best_of(std::span<const DividedTimes> ways, std::size_t w) {
  for (std::size_t other = 0; other < ways.size(); ++other)
    if (other != w && no_more(ways[other], ways[w]) && (other < w || !no_more(ways[w], ways[other])))
      return false;
  return true;
}

/// Maximum number of devices for which all divisions are distinguished.
constexpr std::size_t kMostDevices = 128;

std::size_t power_of_two(std::int64_t share) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(share)) - 1);
}

std::string_view divided(PlanFamily family) {
  constexpr std::string_view kWords[] = {"", ", its weights on all devices", ", divided over all devices"};
  return kWords[static_cast<std::size_t>(family)];
}

}  // namespace

LeastTimesTable::LeastTimesTable(const cost::Problem& problem, PlanFamily family, const BoundCheck& check)
    : problem_(problem),
      family_(family),
      check_(check),
      each_(problem.cluster.size() <= kMostDevices),
      types_(types_in_use(problem.cluster)) {
  const auto devices = static_cast<int>(problem.cluster.size());
  const bool groups = family == PlanFamily::tensor_parallel;
  locals_ = local_models(problem.graph, groups && each_ ? devices : 1, groups ? devices : 1);
  find_divisions();
  ways_ = locals_.size() * kWays.size();
  find_kinds();
  cells_.resize(firsts_.size());
  stays_.resize(firsts_.size());
  over_all_.assign(firsts_.size(), kNone);
  rates_.assign(firsts_.size() * rows_.size() * types_.size(), kNoWork);
  core::parallel_for(firsts_.size(), [&](std::size_t kind) { fill(kind); });
  weigh();
  for (std::size_t kind = 0; kind < firsts_.size(); ++kind) {
    equals_.push_back(first_equal(kind));
    best_.push_back(best_cells(kind));
  }
}

/// Two operators are of one kind if each local model divides both or neither, and costs in it are equal.
void LeastTimesTable::find_kinds() {
  std::vector<std::vector<std::uint32_t>> names(problem_.graph.size());
  for (const LocalModel& model : locals_) {
    const auto forms = cost::alike_operators(local_problem(model));
    for (std::size_t op = 0; op < names.size(); ++op) {
      names[op].push_back(forms[op]);
      names[op].push_back(divides(problem_.graph, core::OpId(op), model));
    }
  }
  std::map<std::vector<std::uint32_t>, std::size_t> kinds;
  for (std::size_t op = 0; op < names.size(); ++op) {
    const auto [kind, is_new] = kinds.try_emplace(std::move(names[op]), firsts_.size());
    if (is_new) firsts_.emplace_back(op);
    kind_.push_back(kind->second);
  }
}

void LeastTimesTable::find_divisions() {
  const auto devices = static_cast<std::int64_t>(problem_.cluster.size());
  const bool groups = each_ && family_ == PlanFamily::tensor_parallel;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> largest;  // largest of its groups
  for (std::int64_t b = 1; b <= problem_.training.mini_batch; ++b) {
    if (problem_.training.mini_batch % b != 0) continue;
    for (std::int64_t r = 1; r <= std::min(b, devices); ++r) {
      std::int64_t& group = largest[{b / r, (b + r - 1) / r}];
      group = std::max(group, groups ? devices / r : 1);
    }
  }
  for (const auto& [samples, group] : largest) {
    const std::size_t row = each_ ? rows_.size() : power_of_two(samples.first);
    for (; rows_.size() <= row; groups_ += rows_.back().groups)
      rows_.push_back({static_cast<std::size_t>(group), groups_});
    shares_.push_back({samples.first, samples.second, row});
  }
}

/// True if the share fits in the smallest stage that holds it: weights, one micro-batch's activations, the
/// operator's own workspace.
bool LeastTimesTable::fits(const cost::StageLoad& load, std::int64_t samples, core::Bytes memory) const {
  const auto need = cost::stage_memory(load, problem_.memory, problem_.training, samples, 1);
  return plan::total(need) <= memory;
}

cost::StageLoad LeastTimesTable::least_load(core::OpId op, std::size_t group) const {
  cost::StageLoad load = cost::stage_load(problem_, {&op, 1});
  load.inputs = load.outputs = core::Bytes(0);  // its neighbours may be in the same stage
  if (problem_.graph.op(op).parameters == 0)
    load.parameters = load.largest = load.fresh = core::Bytes(0);  // operators it is tied to may be, too
  const auto all = static_cast<std::int64_t>(problem_.cluster.size()),
             tensors = static_cast<std::int64_t>(group);
  const std::int64_t weights = family_ == PlanFamily::replicated ? 1 : all;
  load.parameters = core::Bytes(load.parameters.value() / weights);
  load.frozen = core::Bytes(load.frozen.value() / weights);
  load.activations = core::Bytes(load.activations.value() / tensors);
  load.workspace = {};
  const cost::Envelope least = cost::least_workspace(problem_.graph, problem_.costs, op);
  for (const cost::Line& line : least.lines())
    load.workspace.raise({line.fixed / weights, line.each / tensors});
  return load;
}

/// Lowers times to the forward and backward passes of one device's part, and of the whole group.
void LeastTimesTable::lower_to_group(std::span<DividedTimes> by_way, std::size_t kind, std::size_t t,
                                     std::int64_t samples, std::size_t group, std::size_t row) {
  const core::OpId op = firsts_[kind];
  const double devices = each_ ? static_cast<double>(group) : 0;
  for (std::size_t m = 0; m < locals_.size(); ++m) {
    const LocalModel& model = locals_[m];
    const auto context = static_cast<std::size_t>(model.context);
    if (group % context != 0 || !divides(problem_.graph, op, model)) continue;
    const cost::Problem local = local_problem(model);
    const double part = static_cast<double>(context) / static_cast<double>(group);
    for (std::size_t w = 0; w < (context == group ? 1 : kWays.size()); ++w) {
      const auto shard =
          context == group ? cost::OpShard() : cost::op_shard(model.graph.op(op), kWays[w], part);
      const cost::OpTime time = cost::operator_time(local, op, type(t), samples, shard);
      DividedTimes& cell = by_way[m * kWays.size() + w];
      lower_passes(cell, time.forward.value(), time.input_gradient.value(), time.weight_gradient.value());
      const Work work = scaled(devices, rate_of(time, samples));
      lower(cell.work, work);
      stays_[kind].push_back({row, work.all, (time.forward + time.input_gradient).value()});
    }
  }
}

void LeastTimesTable::lower_to_whole(std::size_t kind, std::size_t t, std::int64_t samples, Work& rate) {
  const core::OpId id = firsts_[kind];
  LeastTimes& least = over_all_[kind];
  for (const LocalModel& model : locals_) {
    if (model.context > 1 || !divides(problem_.graph, id, model)) continue;
    const cost::Problem local = local_problem(model);
    const cost::OpTime time = cost::operator_time(local, id, type(t), samples);
    lower(rate, rate_of(time, samples));
    lower(least.held_rate, (time.forward + time.input_gradient).value() / static_cast<double>(samples));
    lower(least.forward_rate, time.forward.value() / static_cast<double>(samples));
    const bool core = graph::has_core(problem_.graph.op(id));
    const double again = core ? cost::core_forward(local, id, type(t), samples).value() : 0;
    lower(least.core_rate, again / static_cast<double>(samples));
  }
  lower(least.rate, rate);
}

void LeastTimesTable::lower_to_share(std::size_t kind, std::size_t t, const Share& share,
                                     std::size_t least_group, std::vector<DividedTimes>& by_way) {
  Work& rate = rate_on(t, kind, share.row);
  const Row& row = rows_[share.row];
  const auto group = [&](std::size_t place) {
    return std::span(by_way).subspan((row.first + place) * ways_, ways_);
  };
  for (std::int64_t n = share.least; n <= share.most; ++n) {
    if (check_) check_();
    lower_to_whole(kind, t, n, rate);
    if (!each_) lower_to_group(group(0), kind, t, n, least_group, share.row);
    for (std::size_t g = least_group; each_ && g <= row.groups; ++g)
      lower_to_group(group(g - 1), kind, t, n, g, share.row);
  }
}

void LeastTimesTable::fill(std::size_t kind) {
  const core::OpId id = firsts_[kind];
  const std::size_t all = family_ == PlanFamily::tensor_parallel ? problem_.cluster.size() : 1;
  std::vector<cost::StageLoad> loads;  // [group] from the first on
  std::vector<DividedTimes> by_way(groups_ * ways_, kNotDivided);
  const std::size_t first = each_ ? 1 : all;
  for (std::size_t g = first; g <= all; ++g) loads.push_back(least_load(id, g));
  for (std::size_t t = 0; t < types_.size(); ++t)
    for (const Share& share : shares_) {
      const std::size_t last = each_ ? rows_[share.row].groups : all;
      std::size_t group = first;
      while (group <= last && !fits(loads[group - first], share.most, type(t).memory)) ++group;
      if (group <= last) lower_to_share(kind, t, share, group, by_way);
    }
  prune(stays_[kind]);
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (std::size_t g = 0; g < rows_[row].groups; ++g) {
      const auto ways = std::span(by_way).subspan((rows_[row].first + g) * ways_, ways_);
      for (std::size_t w = 0; w < ways.size(); ++w) {
        if (std::isinf(ways[w].forward) || !best_of(ways, w)) continue;
        cells_[kind].push_back({row, ways[w]});
        lower_passes(over_all_[kind], ways[w].forward, ways[w].input_gradient, ways[w].weight_gradient);
      }
    }
  if (std::isinf(over_all_[kind].rate.all))
    throw core::Infeasible(
        fmt::format("operator '{}' fits on no device, not even with the smallest share of a micro-batch{}",
                    problem_.graph.op(id).name, divided(family_)));
}

/// Computes weights. A type's speed is the inverse of the time of all operators on it; an operator that does
/// not fit counts as on the best type.
void LeastTimesTable::weigh() {
  std::vector<double> speed(types_.size());
  for (std::size_t t = 0; t < types_.size(); ++t) {
    double all = 0;
    for (const std::size_t kind : kind_) {
      double best = kInfinite;
      for (std::size_t s = 0; s < rows_.size(); ++s) lower(best, rate_on(t, kind, s).all);
      all += std::isinf(best) ? over_all_[kind].rate.all : best;
    }
    constexpr double kNothing = 1e-18;  // seconds, a millionth of the simulator's resolution
    speed[t] = all > kNothing ? 1 / all : 1;
  }
  double sum = 0;
  for (const cluster::Device& device : problem_.cluster.devices())
    for (std::size_t t = 0; t < types_.size(); ++t) sum += types_[t] == device.type ? speed[t] : 0;
  for (double v : speed) weight_.push_back(v / sum);
  const double least = *std::min_element(weight_.begin(), weight_.end());
  for (std::size_t kind = 0; kind < firsts_.size(); ++kind) weigh(kind, least);
}

/// Weights work of groups: the devices together do the whole operator, and wait for the largest part.
void LeastTimesTable::weigh(std::size_t kind, double least_weight) {
  std::vector<Work> whole(rows_.size(), kNoWork);
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (std::size_t t = 0; t < types_.size(); ++t)
      lower(whole[row], scaled(weight_[t], rate_on(t, kind, row)));
  for (Cell& cell : cells_[kind]) {
    Work& work = cell.divided.work;
    work = larger(whole[cell.row], scaled(least_weight, work));
    lower(over_all_[kind].work, work);
  }
  for (RowStay& stay : stays_[kind]) stay.rate = std::max(whole[stay.row].all, least_weight * stay.rate);
}

std::size_t LeastTimesTable::first_equal(std::size_t kind) const {
  std::size_t first = 0;
  while (cells_[first] != cells_[kind] || stays_[first] != stays_[kind]) ++first;
  return first;
}

/// Divisions that no other one beats for any steps.
std::vector<DividedTimes> LeastTimesTable::best_cells(std::size_t kind) const {
  std::vector<DividedTimes> all, best;
  for (const Cell& cell : cells_[kind]) all.push_back(cell.divided);
  std::ranges::stable_sort(all, {}, [](const DividedTimes& d) { return d.work.all; });
  for (const DividedTimes& each : all)
    if (std::ranges::none_of(best, [&](const DividedTimes& other) { return no_more(other, each); }))
      best.push_back(each);
  return best;
}

void LeastTimesTable::prune(std::vector<RowStay>& stays) {
  std::ranges::sort(stays, {}, [](const RowStay& s) { return std::tuple(s.row, s.time, s.rate); });
  std::vector<RowStay> left;
  for (const RowStay& stay : stays)
    if (left.empty() || left.back().row != stay.row || stay.rate < left.back().rate) left.push_back(stay);
  stays = std::move(left);
}

std::vector<Division> LeastTimesTable::divisions(std::size_t op, const Steps& steps) const {
  const auto samples = static_cast<double>(problem_.training.mini_batch);
  std::vector<Division> all, best;
  for (const DividedTimes& t : best_[kind_[op]])
    all.push_back({scaled(samples, t.work), steps.forward * t.forward,
                   steps.input_gradient * t.input_gradient + steps.weight_gradient * t.weight_gradient});
  all = not_beaten(std::move(all), steps.leads);
  std::ranges::sort(all, {},
                    [](const Division& d) { return std::tuple(d.work.all, d.work.backward, d.down, d.up); });
  for (const Division& each : all)
    if (std::ranges::none_of(best, [&](const Division& other) { return no_more(other, each); }))
      best.push_back(each);
  return best;
}

std::vector<Stay> LeastTimesTable::stays(std::size_t op) const {
  const auto samples = static_cast<double>(problem_.training.mini_batch);
  std::vector<Stay> all, out;
  for (const RowStay& stay : stays_[kind_[op]]) all.push_back({samples * stay.rate, stay.time});
  std::ranges::sort(all, {}, [](const Stay& stay) { return std::pair(stay.time, stay.work); });
  for (const Stay& stay : all)
    if (out.empty() || stay.work < out.back().work) out.push_back(stay);
  return out;
}

double LeastTimesTable::weighed(double seconds) const {
  return *std::ranges::min_element(weight_) * seconds;
}

bool LeastTimesTable::alike(std::size_t a, std::size_t b) const {
  return equals_[kind_[a]] == equals_[kind_[b]];
}

double LeastTimesTable::update(core::Bytes weights) const {
  if (weights.value() == 0) return 0;
  double least = kInfinite;
  for (std::size_t t = 0; t < types_.size(); ++t)
    lower(least, cost::update_time(problem_, weights, type(t)).value());
  return least;
}

double LeastTimesTable::update_work(core::Bytes weights) const {
  if (weights.value() == 0) return 0;
  double least = kInfinite;
  for (std::size_t t = 0; t < types_.size(); ++t)
    lower(least, weight_[t] * cost::update_time(problem_, weights, type(t)).value());
  return least;
}

}  // namespace penstock::score
