#include "graphpipe/stage_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "penstock/core/error.hpp"
#include "penstock/graph/ties.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "smallest_memory.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;
using core::OpId;
using graph::Vertex;

constexpr std::size_t kNoShare = std::numeric_limits<std::size_t>::max();

/// Time of a unit on the slowest device type in use, because planners only count devices.
std::int64_t unit_time(const cost::Problem& problem, const std::vector<OpId>& unit, std::int64_t samples) {
  constexpr double kLongest = 1e3;  // s; a thousand units of it still count exactly in picoseconds
  double slowest = 0;
  std::vector<bool> seen(problem.cluster.types().size());
  for (const cluster::Device& device : problem.cluster.devices()) {
    if (seen[device.type]) continue;
    seen[device.type] = true;
    const auto& type = problem.cluster.types()[device.type];
    slowest = std::max(slowest, cost::compute_time(problem, unit, type, samples).total().value());
  }
  if (!(slowest <= kLongest))
    throw core::BadInput(fmt::format("operator '{}' takes {:.3g} s for {} samples; at most {} s are handled",
                                     problem.graph.op(unit.back()).name, slowest, samples, kLongest));
  return to_picoseconds(core::Seconds(slowest)).value();
}

std::vector<int> unit_of_operator(const graph::OpGraph& graph, const UnitGraph& units) {
  std::vector<int> unit_of(graph.size());
  for (std::size_t u = 0; u < units.operators.size(); ++u)
    for (OpId op : units.operators[u]) unit_of[op.index()] = static_cast<int>(u);
  return unit_of;
}

bool inside(const StageSet& set, int position) {
  return std::any_of(set.begin(), set.end(), [&](const PositionRange& range) {
    return range.begin <= position && position < range.end;
  });
}

std::vector<Bytes> prefix_sums(const std::vector<Bytes>& values) {
  std::vector<Bytes> sums(1);
  for (Bytes value : values) sums.push_back(sums.back() + value);
  return sums;
}

}  // namespace

StageTable::StageTable(const cost::Problem& problem, const UnitGraph& units,
                       const UnitArrangement& arrangement, StageChoices choices, core::StopToken stop)
    : problem_(problem),
      unit_at_(arrangement.unit_at),
      choices_(std::move(choices)),
      network_(score::assume_network(problem.cluster, problem.training, choices_.replicas)),
      memory_(planners::smallest_memory(problem.cluster)),
      framework_(cost::framework_memory(problem)) {
  for (int unit : unit_at_) operators_at_.push_back(units.operators[static_cast<std::size_t>(unit)]);
  describe_positions(units, stop);
  if (problem.memory.transient) workspace_ = std::make_unique<WorkspaceTable>(problem, operators_at_);
  cost::StageLoad whole{parameters_.back(), activations_.back(), outputs_.back(), outputs_.back()};
  whole.statistics = statistics_.back();
  whole.framework = framework_;
  whole_need_ = most_need(whole, outputs_.back());
  measure(units, stop);
  fill_steps();
}

void StageTable::describe_positions(const UnitGraph& units, core::StopToken stop) {
  const graph::OpGraph& graph = problem_.graph;
  const std::vector<int> unit_of = unit_of_operator(graph, units);
  std::vector<int> position_of_unit(unit_at_.size());
  for (std::size_t p = 0; p < unit_at_.size(); ++p)
    position_of_unit[static_cast<std::size_t>(unit_at_[p])] = static_cast<int>(p);
  const auto position = [&](Vertex v) {
    return position_of_unit[static_cast<std::size_t>(unit_of[static_cast<std::size_t>(v)])];
  };

  const std::size_t size = unit_at_.size();
  std::vector<Bytes> activations(size), parameters(size), frozen(size), outputs(size), statistics(size);
  crossing_.resize(size + 1);
  readers_.resize(graph.size());
  for (std::size_t v = 0; v < graph.size(); ++v) {
    stop.check();
    const graph::Operator& op = graph.op(OpId(v));
    const int here = position(static_cast<Vertex>(v));
    const auto at = static_cast<std::size_t>(here);
    activations[at] += cost::saved_bytes(problem_, op);
    statistics[at] += cost::batch_statistics(op);
    outputs[at] += op.output_bytes;
    const cost::MemoryLine around = cost::most_around(cost::backward_step(graph, problem_.costs, OpId(v)));
    around_ = {std::max(around_.fixed, around.fixed), std::max(around_.each, around.each)};
    parameters[at] += graph.parameter_bytes(OpId(v));
    frozen[at] += graph.frozen_bytes(OpId(v));

    std::vector<int>& readers = readers_[v];
    for (Vertex to : graph.dag().successors(static_cast<Vertex>(v))) readers.push_back(position(to));
    std::sort(readers.begin(), readers.end());
    int cut = here + 1;
    for (int reader : readers)
      for (; cut <= reader; ++cut)
        crossing_[static_cast<std::size_t>(cut)].push_back({here, reader, v, op.output_bytes});
  }
  find_ties(position);
  activations_ = prefix_sums(activations);
  statistics_ = prefix_sums(statistics);
  parameters_ = prefix_sums(parameters);
  frozen_ = prefix_sums(frozen);
  outputs_ = prefix_sums(outputs);
}

void StageTable::find_ties(const std::function<int(Vertex)>& position) {
  const graph::OpGraph& graph = problem_.graph;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const OpId owner = graph.owner(OpId(v));
    if (owner != OpId(v))
      ties_.push_back({owner, position(static_cast<Vertex>(owner.index())), position(static_cast<Vertex>(v)),
                       graph.parameter_bytes(owner)});
  }
  std::stable_sort(ties_.begin(), ties_.end(),
                   [](const WeightTie& a, const WeightTie& b) { return a.owner < b.owner; });
}

/// Adds parameters whose owner is not in the set, each once.
void StageTable::add_copies(const StageSet& set, cost::StageLoad& load) const {
  OpId counted;
  for (const WeightTie& tie : ties_) {
    if (tie.owner == counted || !inside(set, tie.user_at) || inside(set, tie.owner_at)) continue;
    load.parameters += tie.bytes;
    counted = tie.owner;
  }
}

void StageTable::measure(const UnitGraph& units, core::StopToken stop) {
  std::vector<std::int64_t> shares;
  for (std::size_t c = 0; c < choices_.micro_batches.size(); ++c) {
    share_.emplace_back();
    for (int r : choices_.replicas) {
      if (!choices_.possible(choices_.micro_batches[c], r)) {
        share_[c].push_back(kNoShare);
        continue;
      }
      const std::int64_t samples = cost::samples_per_device(choices_.micro_batches[c], r);
      auto known = std::find(shares.begin(), shares.end(), samples);
      share_[c].push_back(static_cast<std::size_t>(known - shares.begin()));
      if (known == shares.end()) shares.push_back(samples);
    }
  }
  for (std::int64_t samples : shares) {
    time_prefix_.push_back({0});
    for (int unit : unit_at_) {
      stop.check();
      time_prefix_.back().push_back(
          time_prefix_.back().back() +
          unit_time(problem_, units.operators[static_cast<std::size_t>(unit)], samples));
    }
  }
  work_prefix_ = {0};
  for (int p = 0; p < positions(); ++p) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < share_.size(); ++c)
      for (std::size_t r = 0; r < share_[c].size(); ++r)
        if (share_[c][r] != kNoShare)
          least =
              std::min(least, choices_.replicas[r] * static_cast<double>(time({{p, p + 1}}, share_[c][r])) *
                                  1e-12 / static_cast<double>(choices_.micro_batches[c]));
    work_prefix_.push_back(work_prefix_.back() + least);
  }
}

void StageTable::fill_steps() {
  const std::int64_t unit = choices_.micro_batches.front();
  const auto run = [&](std::size_t c) {
    return static_cast<Level>(choices_.micro_batches[c] * choices_.k / unit);
  };
  const auto most =
      static_cast<Level>(std::min<std::int64_t>(problem_.training.mini_batch / unit, kNoLevel / 4));
  const std::size_t configs = choices_.micro_batches.size();
  for (std::size_t c = 0; c < configs; ++c) {
    steps_.emplace_back();
    const Level transfer = choices_.in_flight == schedule::InFlight::hide_transfers ? run(c) : 0;
    for (std::size_t next = 0; next < configs; ++next)  // see schedule::demanded_in_flight
      steps_[c].push_back(
          {(run(c) <= run(next) ? run(next) : 2 * run(c) - run(next)) + transfer, run(c), most});
    steps_[c].push_back({run(c), run(c), most});
  }
  if (configs > 1) return;
  for (LevelStep& step : steps_[0]) {  // one size: levels are whole runs already, so nothing is rounded
    step.run = 1;
  }
}

cost::StageLoad StageTable::load(const StageSet& set) const {
  cost::StageLoad load;
  for (const PositionRange& range : set) {
    const auto begin = static_cast<std::size_t>(range.begin), end = static_cast<std::size_t>(range.end);
    load.activations += activations_[end] - activations_[begin];
    load.statistics += statistics_[end] - statistics_[begin];
    load.parameters += parameters_[end] - parameters_[begin];
    load.frozen += frozen_[end] - frozen_[begin];
  }
  load.inputs = inputs(set);
  load.outputs = outputs(set);
  load.framework = framework_;
  add_copies(set, load);
  return load;
}

bool StageTable::ample(const StageSet& set, const cost::StageLoad& load) const {
  if (whole_need_ <= memory_) return true;
  Bytes outputs;
  for (const PositionRange& range : set)
    outputs +=
        outputs_[static_cast<std::size_t>(range.end)] - outputs_[static_cast<std::size_t>(range.begin)];
  return most_need(load, outputs) <= memory_;
}

/// Upper bound on memory: the whole mini-batch in flight, and gradients of all tensors at once.
Bytes StageTable::most_need(const cost::StageLoad& load, Bytes outputs) const {
  const std::int64_t largest = choices_.micro_batches.back();
  const Bytes fixed = plan::total(cost::stage_memory(load, problem_.memory, problem_.training, largest, 0));
  const cost::MemoryLine workspace = around_ + cost::MemoryLine{{}, load.inputs + outputs};
  const Bytes each = (load.activations + load.inputs) * problem_.memory.activation_copies;
  return fixed + (workspace_ ? workspace.at(largest) : Bytes(0)) +
         each * (problem_.training.mini_batch + largest) +
         load.statistics * (problem_.memory.activation_copies * (problem_.training.mini_batch + 1));
}

cost::MemoryEnvelope StageTable::workspace(const StageSet& set) const {
  return workspace_ ? workspace_->of(set) : cost::MemoryEnvelope();
}

Bytes StageTable::inputs(const StageSet& set) const {
  Bytes sum;
  for (const PositionRange& range : set)
    for (const CrossingTensor& tensor : crossing_[static_cast<std::size_t>(range.begin)]) {
      if (tensor.next_reader >= range.end || inside(set, tensor.producer)) continue;
      const auto& readers = readers_[tensor.tensor];  // counted where the set first reads it
      const auto first = std::find_if(readers.begin(), readers.end(), [&](int p) { return inside(set, p); });
      if (*first >= range.begin) sum += tensor.bytes;
    }
  return sum;
}

Bytes StageTable::outputs(const StageSet& set) const {
  Bytes sum;
  for (const PositionRange& range : set)
    for (const CrossingTensor& tensor : crossing_[static_cast<std::size_t>(range.end)]) {
      if (tensor.producer < range.begin) continue;
      const auto& readers = readers_[tensor.tensor];
      if (std::any_of(readers.begin(), readers.end(), [&](int p) { return !inside(set, p); }))
        sum += tensor.bytes;
    }
  return sum;
}

std::vector<OpId> StageTable::operators(const StageSet& set) const {
  std::vector<OpId> out;
  for (const PositionRange& range : set)
    for (int p = range.begin; p < range.end; ++p) {
      const auto& here = operators_at_[static_cast<std::size_t>(p)];
      out.insert(out.end(), here.begin(), here.end());
    }
  std::sort(out.begin(), out.end());
  return out;
}

std::int64_t StageTable::time(const StageSet& set, std::size_t share) const {
  std::int64_t sum = 0;
  const auto& prefix = time_prefix_[share];
  for (const PositionRange& range : set)
    sum += prefix[static_cast<std::size_t>(range.end)] - prefix[static_cast<std::size_t>(range.begin)];
  return sum;
}

double StageTable::least_compute(const StageSet& set) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < share_.size(); ++c)
    for (std::size_t share : share_[c])
      if (share != kNoShare)
        least = std::min(least, static_cast<double>(time(set, share)) * 1e-12 /
                                    static_cast<double>(choices_.micro_batches[c]));
  return least;
}

double StageTable::least_work(const StageSet& set) const {
  double sum = 0;
  for (const PositionRange& range : set)
    sum += work_prefix_[static_cast<std::size_t>(range.end)] -
           work_prefix_[static_cast<std::size_t>(range.begin)];
  return sum;
}

double StageTable::compute(const StageSet& set, int config, int replica_index) const {
  const auto c = static_cast<std::size_t>(config), r = static_cast<std::size_t>(replica_index);
  if (share_[c][r] == kNoShare) return std::numeric_limits<double>::infinity();
  return to_seconds(core::Picoseconds(time(set, share_[c][r]))).value() /
         static_cast<double>(choices_.micro_batches[c]);
}

double StageTable::time_per_sample(const StageSet& set, const cost::StageLoad& load, int config,
                                   int replica_index) const {
  const auto c = static_cast<std::size_t>(config), r = static_cast<std::size_t>(replica_index);
  if (share_[c][r] == kNoShare) return std::numeric_limits<double>::infinity();
  const core::Seconds compute = to_seconds(core::Picoseconds(time(set, share_[c][r])));
  const std::int64_t size = choices_.micro_batches[c];
  const auto terms = score::stage_terms(
      network_, load, compute, size, choices_.replicas[r],
      choices_.reduced == ReduceFrequency::per_micro_batch ? size : problem_.training.mini_batch);
  if (choices_.objective == StageTimeRule::longer) return terms.time_per_sample();
  return terms.compute + terms.communication + terms.reduce;
}

Level StageTable::capacity(const cost::StageLoad& load, int config, int replica_index) const {
  const auto c = static_cast<std::size_t>(config), r = static_cast<std::size_t>(replica_index);
  const std::int64_t samples = cost::samples_per_device(choices_.micro_batches[c], choices_.replicas[r]);
  auto held = cost::stage_memory(load, problem_.memory, problem_.training, samples, 0);
  if (plan::total(held) > memory_) return -1;
  at(held, plan::MemoryKind::step) = Bytes(0);  // not while passes run
  const std::int64_t room = (memory_ - plan::total(held)).value();
  const std::int64_t each = ((load.activations + load.inputs) * samples + load.statistics).value() *
                            problem_.memory.activation_copies;
  if (room < each) return -1;
  const std::int64_t micro_batches = each == 0 ? kNoLevel : room / each;
  const std::int64_t levels = micro_batches * (choices_.micro_batches[c] / choices_.micro_batches.front());
  return static_cast<Level>(std::min<std::int64_t>(levels, kNoLevel / 2));
}

std::vector<UnitFace> unit_faces(const cost::Problem& problem, const UnitGraph& units,
                                 const StageChoices& choices) {
  const graph::OpGraph& graph = problem.graph;
  const std::vector<int> unit_of = unit_of_operator(graph, units);
  std::vector<UnitFace> faces(units.operators.size());
  for (std::size_t u = 0; u < faces.size(); ++u) {
    UnitFace& face = faces[u];
    for (std::size_t slot = 0; slot < units.operators[u].size(); ++slot) {
      const OpId id = units.operators[u][slot];
      const graph::Operator& op = graph.op(id);
      face.cost += fmt::format("|{},{},{},{}", op.parameters, graph.frozen_bytes(id).value(),
                               op.output_bytes.value(), op.saved_bytes.value());
      if (const OpId owner = graph.owner(id); owner != id) {  // neither unit has an equal one
        face.cost += fmt::format("={}", owner.index());
        faces[static_cast<std::size_t>(unit_of[owner.index()])].cost += fmt::format("={}", owner.index());
      }
      for (Vertex to : graph.dag().successors(static_cast<Vertex>(id.index()))) {
        const int reader = unit_of[static_cast<std::size_t>(to)];
        if (reader == static_cast<int>(u)) continue;
        face.readers.push_back({reader, static_cast<int>(slot)});
        faces[static_cast<std::size_t>(reader)].reads.push_back(
            {static_cast<int>(u), static_cast<int>(slot)});
      }
    }
    for (std::int64_t b : choices.micro_batches)
      for (int r : choices.replicas)
        if (choices.possible(b, r))
          face.cost +=
              fmt::format(",{}", unit_time(problem, units.operators[u], cost::samples_per_device(b, r)));
  }
  for (UnitFace& face : faces)
    for (auto* tensors : {&face.reads, &face.readers}) {
      std::sort(tensors->begin(), tensors->end());
      tensors->erase(std::unique(tensors->begin(), tensors->end()), tensors->end());
    }
  return faces;
}

}  // namespace penstock::planners
