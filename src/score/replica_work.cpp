#include "replica_work.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "uniform_degrees.hpp"

namespace penstock::score {

using core::OpId;
using plan::MemoryKind;

ReplicaModel::ReplicaModel(const cost::Problem& problem, const plan::LayerRow& row, const UniformSpace& space,
                           const UniformDegrees& degrees)
    : problem_(problem), row_(row), space_(space), degrees_(degrees) {
  parts_.resize(static_cast<std::size_t>(row.parts()));
  for (std::size_t v = 0; v < row.part_of.size(); ++v) {
    parts_[static_cast<std::size_t>(row.part_of[v])].emplace_back(v);
    operators_.emplace_back(v);
  }
  std::erase_if(parts_, [](const auto& part) { return part.empty(); });
  whole_ = stage(operators_, least_replicas(degrees));
}

/// Some parts of the model as a stage of one rank, on the first devices.
plan::Stage ReplicaModel::stage(const std::vector<OpId>& operators, std::int64_t replicas,
                                std::int64_t micro_batch) const {
  plan::Stage out;
  out.operators = operators;
  const std::int64_t devices = replicas * degrees_.tensor * degrees_.context;
  for (std::int64_t d = 0; d < devices; ++d) out.devices.emplace_back(static_cast<std::size_t>(d));
  out.micro_batch = out.in_flight = micro_batch * replicas;
  out.tensor_parallel = degrees_.tensor;
  out.context_parallel = degrees_.context;
  out.context_exchange = degrees_.exchange;
  out.expert_parallel = degrees_.expert;
  out.whole_experts = degrees_.whole_experts;
  out.sequence_parallel = degrees_.divides_tokens;
  return out;
}

bool ReplicaModel::possible(std::int64_t micro_batch) const {
  plan::Plan plan;
  plan.stages = {whole_};
  plan.stages.front().micro_batch *= micro_batch;
  plan.training = problem_.training;
  return layout::context_violations(problem_.graph, plan).empty() &&
         layout::expert_violations(problem_.graph, plan).empty();
}

const ReplicaWork& ReplicaModel::work(std::int64_t micro_batch) {
  const auto known = known_.find(micro_batch);
  return known != known_.end() ? known->second
                               : known_.emplace(micro_batch, measured(micro_batch)).first->second;
}

/// Times the parts within a single stage. As stages of their own they take no less time: layouts within them
/// stay the same.
ReplicaWork ReplicaModel::measured(std::int64_t micro_batch) {
  if (!times_) times_.emplace(problem_, whole_, parts_);
  std::vector<double> seconds;
  for (const cost::StageTime& time : times_->times(0, micro_batch))
    seconds.push_back(time.total().total().value());
  if (ways_.empty()) choose_layers(seconds);
  ReplicaWork out{0, std::numeric_limits<double>::infinity(), {}};
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    out.seconds += seconds[k];
    const std::int32_t part = row_.part_of[parts_[k].front().index()];
    if (part != 0 && part != row_.head()) out.least_layer = std::min(out.least_layer, seconds[k]);
  }
  for (const auto& way : ways_)
    out.options.push_back({equal_ * way->times->times(0, micro_batch).front().total().total().value(),
                           equal_ * kept(way->load, way->recomputed, micro_batch)});
  return out;
}

/// Layers that take equally long, hold as many weights and keep as much are of one kind.
void ReplicaModel::choose_layers(const std::vector<double>& seconds) {
  struct EqualLayers {
    std::size_t like = 0, count = 0;
  };
  std::map<std::tuple<double, double, std::int64_t>, EqualLayers> kinds;
  double most = -1;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const std::int32_t part = row_.part_of[parts_[k].front().index()];
    if (part == 0 || part == row_.head()) continue;
    const cost::StageLoad load = cost::stage_load(problem_, stage(parts_[k], least_replicas(degrees_)));
    EqualLayers& equal = kinds[{seconds[k], kept(load, false, 1), load.parameters.value()}];
    equal = {k, equal.count + 1};
    if (const double all = seconds[k] * static_cast<double>(equal.count); all > most)
      most = all, like_ = k, equal_ = static_cast<double>(equal.count);
  }
  std::vector<plan::Recomputation> ways = {{}};
  if (space_.core) ways.push_back(plan::kRecomputeCore);
  if (space_.layers) ways.push_back(plan::kRecomputeLayers);
  for (const plan::Recomputation& again : ways) {
    plan::Stage layer = stage(parts_[like_], least_replicas(degrees_));
    layer.recompute = again;
    ways_.push_back(std::make_unique<LayerWay>(
        LayerWay{whole_, cost::stage_load(problem_, layer), static_cast<bool>(again), {}}));
    ways_.back()->whole.recompute = again;
    ways_.back()->times.emplace(problem_, ways_.back()->whole, cost::OperatorSets{parts_[like_]});
  }
}

/// Bytes that one micro-batch keeps of one layer from its forward pass on, without the layer's inputs.
double ReplicaModel::kept(const cost::StageLoad& load, bool recomputed, std::int64_t samples) const {
  const core::Bytes made = recomputed ? core::Bytes(0) : load.activations * samples + load.statistics;
  return static_cast<double>(((load.saved * samples + made) * problem_.memory.activation_copies).value());
}

double ReplicaModel::state_of(const std::vector<OpId>& operators, std::int64_t replicas) const {
  plan::Stage held = stage(operators, replicas);
  held.zero = held.has_copies() ? space_.zero : 0;
  const auto memory =
      cost::stage_memory(cost::stage_load(problem_, stage(operators, least_replicas(degrees_))),
                         problem_.memory, problem_.training, 1, 0, 0, plan::replica_placement(held));
  core::Bytes out;
  for (const MemoryKind kind : {MemoryKind::weights, MemoryKind::gradients, MemoryKind::optimizer})
    out += plan::at(memory, kind);
  return static_cast<double>(out.value());
}

ReplicaModel::StateBytes ReplicaModel::state(std::int64_t replicas) const {
  StateBytes out{0, equal_ * state_of(parts_[like_], replicas), 0};
  for (const auto& part : parts_) {
    const std::int32_t number = row_.part_of[part.front().index()];
    if (number == 0) out.before = state_of(part, replicas);
    if (number == row_.head()) out.behind = state_of(part, replicas);
  }
  return out;
}

}  // namespace penstock::score
