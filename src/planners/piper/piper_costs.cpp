#include "piper/piper_costs.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::planners {

using graph::Vertex;

namespace {

constexpr double kSlack = 1 + 2e-13;  // sums along the lattice differ from sums over a stage by rounding
constexpr std::size_t kMostEntries = std::size_t{1} << 26;

const graph::PiperDegree* find_degree(const graph::PiperLayer& layer, int degree) {
  for (const auto& d : layer.degrees)
    if (d.degree == degree) return &d;
  return nullptr;
}

}  // namespace

PiperCosts::PiperCosts(const graph::PiperWorkload& workload, const PiperLattice& lattice,
                       const PiperRules& rules, core::StopToken stop)
    : lattice_(lattice),
      rules_(rules),
      setting_(workload.setting),
      layer_count_(workload.layers.size()),
      most_replicas_(std::min(setting_.devices, setting_.micro_batches)) {
  choose_degrees(workload, rules);
  for (int t : tensor_degrees_)
    for (const auto& layer : workload.layers) layers_.push_back(read_layer(layer, t));
  read_edges(workload, stop);
  sum(stop);
  if (rules_.recompute != RecomputeMode::per_layer) return;
  const std::size_t slots = tensor_degrees_.size() * static_cast<std::size_t>(most_replicas_);
  if (slots * std::max(layer_count_, lattice_.size()) > kMostEntries)
    throw core::Error(core::ExitCode::limit,
                      "piper: downsets times devices times tensor degrees exceed 2^26");
  swaps_.resize(slots);
  thriftiest_.resize(slots * lattice_.size());
  core::parallel_for(slots, [&](std::size_t s) {
    stop.check();
    const std::size_t t = s / static_cast<std::size_t>(most_replicas_);
    const int in_flight = static_cast<int>(s % static_cast<std::size_t>(most_replicas_)) + 1;
    list_swaps(t, in_flight);
    list_thriftiest(t, in_flight);
  });
}

void PiperCosts::choose_degrees(const graph::PiperWorkload& workload, const PiperRules& rules) {
  std::set<int> degrees;
  for (const auto& layer : workload.layers)
    for (const auto& d : layer.degrees)
      if (d.degree <= setting_.devices && (rules.tensor_parallel || d.degree == 1)) degrees.insert(d.degree);
  tensor_degrees_.assign(degrees.begin(), degrees.end());
  for (int d = 1; d <= (rules.data_parallel ? most_replicas_ : 1); ++d)
    if (setting_.micro_batches % d == 0 && !(rules.powers_of_two && (d & (d - 1)) != 0))
      data_degrees_.push_back(d);
}

PiperCosts::LayerEntry PiperCosts::read_layer(const graph::PiperLayer& layer, int degree) const {
  LayerEntry out;
  const graph::PiperDegree* found = find_degree(layer, degree);
  if (!found) return out;
  out.offered = true;
  out.weights = found->weights;
  const int last = static_cast<int>(found->configurations.size()) - 1;
  out.index[0] = rules_.recompute == RecomputeMode::always ? last : 0;
  out.index[1] = rules_.recompute == RecomputeMode::never ? 0 : last;
  const auto time = [&](int c) { return found->configurations[static_cast<std::size_t>(c)].time; };
  if (time(out.index[1]) < time(out.index[0])) std::swap(out.index[0], out.index[1]);
  for (int c : {0, 1}) {
    const auto& from = found->configurations[static_cast<std::size_t>(out.index[c])];
    out.way[c] = {from.time, from.per_micro_batch, from.fixed};
  }
  return out;
}

void PiperCosts::read_edges(const graph::PiperWorkload& workload, core::StopToken stop) {
  const auto at_degree = [&](Vertex v, int t, const std::vector<double>& sync) {
    const auto& degrees = workload.layers[static_cast<std::size_t>(v)].degrees;
    for (std::size_t i = 0; i < degrees.size() && i < sync.size(); ++i)
      if (degrees[i].degree == t) return sync[i];
    return 0.0;
  };
  for (const auto& edge : workload.edges) {
    EdgeTraffic& end = ends_.emplace_back(EdgeTraffic{edge.from, edge.to, {}, {}});
    for (int t : tensor_degrees_) {
      end.leaving.push_back(edge.bytes + at_degree(edge.from, t, edge.leaving));
      end.entering.push_back(edge.bytes + at_degree(edge.to, t, edge.entering));
    }
  }
  cut_.resize(lattice_.size());
  for (std::size_t i = 0; i < lattice_.size(); ++i) {
    stop.check();
    for (std::size_t e = 0; e < ends_.size(); ++e)
      if (lattice_.has(i, ends_[e].from) && !lattice_.has(i, ends_[e].to))
        cut_[i].push_back(static_cast<std::uint32_t>(e));
  }
}

void PiperCosts::sum(core::StopToken stop) {
  totals_.resize(tensor_degrees_.size() * lattice_.size());
  work_.resize(lattice_.size());
  replica_work_.resize(lattice_.size());
  std::vector<double> least(layer_count_, std::numeric_limits<double>::infinity()), least_replica = least;
  for (std::size_t t = 0; t < tensor_degrees_.size(); ++t)
    for (std::size_t v = 0; v < layer_count_; ++v)
      if (const LayerEntry& l = layer(t, static_cast<Vertex>(v)); l.offered) {
        least[v] = std::min(least[v], l.way[0].time * tensor_degrees_[t]);
        least_replica[v] = std::min(least_replica[v], l.way[0].time);
      }
  for (std::size_t i = 0; i < lattice_.size(); ++i) {
    stop.check();
    for (std::size_t v = 0; v < layer_count_; ++v) {
      if (lattice_.has(i, static_cast<Vertex>(v))) continue;
      work_[i] += least[v];
      replica_work_[i] += least_replica[v];
      for (std::size_t t = 0; t < tensor_degrees_.size(); ++t) {
        const LayerEntry& l = layer(t, static_cast<Vertex>(v));
        SuffixTotals& total = totals_[t * lattice_.size() + i];
        for (const auto& [sum, way] : {std::pair{&total.fast, &l.way[0]}, {&total.slow, &l.way[1]}}) {
          sum->time += way->time;
          sum->per_micro_batch += way->per_micro_batch;
          sum->fixed += way->fixed;
        }
        total.weights += l.weights;
        total.missing += l.offered ? 0 : 1;
      }
    }
  }
}

void PiperCosts::list_swaps(std::size_t t, int in_flight) {
  auto& list = swaps_[slot(t, in_flight)];
  for (Vertex v = 0; v < static_cast<Vertex>(layer_count_); ++v) {
    const LayerEntry& l = layer(t, v);
    const double saving = l.way[0].memory(in_flight) - l.way[1].memory(in_flight);
    if (saving > 0) list.push_back({l.way[1].time - l.way[0].time, saving, v});
  }
  sort_swaps(list);
}

void PiperCosts::list_thriftiest(std::size_t t, int in_flight) {
  double* row = thriftiest_.data() + slot(t, in_flight) * lattice_.size();
  for (std::size_t i = 0; i < lattice_.size(); ++i) row[i] = at(t, i).fast.memory(in_flight);
  for (const LayerSwap& swap : swaps_[slot(t, in_flight)])
    for (std::size_t i = 0; i < lattice_.size(); ++i)
      if (!lattice_.has(i, swap.layer)) row[i] -= swap.saving;
}

double PiperCosts::crossing_bytes(const StageRef& stage) const {
  double bytes = 0;
  for (std::uint32_t e : cut_[stage.i])
    if (lattice_.has(stage.j, ends_[e].to)) bytes += ends_[e].entering[stage.t];
  for (std::uint32_t e : cut_[stage.j])
    if (!lattice_.has(stage.i, ends_[e].from)) bytes += ends_[e].leaving[stage.t];
  return bytes;
}

double PiperCosts::least_memory(const StageRef& stage, int in_flight) const {
  const SuffixTotals &behind = at(stage.t, stage.i), &later = at(stage.t, stage.j);
  const double fast = behind.fast.memory(in_flight) - later.fast.memory(in_flight);
  if (rules_.recompute == RecomputeMode::per_stage)
    return std::min(fast, behind.slow.memory(in_flight) - later.slow.memory(in_flight));
  if (rules_.recompute != RecomputeMode::per_layer) return fast;
  const double* thriftiest = thriftiest_.data() + slot(stage.t, in_flight) * lattice_.size();
  return thriftiest[stage.i] - thriftiest[stage.j];
}

bool PiperCosts::fits_with_swaps(const StageRef& stage, int in_flight, double excess, double budget,
                                 std::vector<Vertex>& slower) const {
  const auto smaller = lattice_.bits(stage.i), larger = lattice_.bits(stage.j);
  const auto inside = [&](Vertex v) {
    const auto word = static_cast<std::size_t>(v) / 64;
    return (larger[word] & ~smaller[word]) >> (static_cast<std::size_t>(v) % 64) & 1;
  };
  return cover(swaps_[slot(stage.t, in_flight)], inside, excess, budget, rules_.knapsack, slower);
}

bool PiperCosts::fits(const StageRef& stage, double crossing_bytes, int data_degree, int in_flight,
                      double load, std::vector<Vertex>& slower) const {
  slower.clear();
  const SuffixTotals &behind = at(stage.t, stage.i), &later = at(stage.t, stage.j);
  const double excess = behind.fast.memory(in_flight) - later.fast.memory(in_flight) - setting_.memory;
  if (excess > 0 && too_full(least_memory(stage, in_flight))) return false;
  const double fixed_load =
      piper_load(0, crossing_bytes, behind.weights - later.weights, data_degree, setting_);
  const double budget = (load * kSlack - fixed_load) * data_degree;
  const double fast = behind.fast.time - later.fast.time;
  if (fast > budget) return false;
  if (excess <= 0) return true;
  switch (rules_.recompute) {
    case RecomputeMode::per_layer:
      return fits_with_swaps(stage, in_flight, excess, budget - fast, slower);
    case RecomputeMode::per_stage:
      if (behind.slow.time - later.slow.time > budget ||
          behind.slow.memory(in_flight) - later.slow.memory(in_flight) > setting_.memory)
        return false;
      slower = lattice_.between(stage.i, stage.j);
      return true;
    default:
      return false;
  }
}

}  // namespace penstock::planners
