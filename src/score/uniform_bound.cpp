#include "penstock/score/uniform_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "fluid_pipeline.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "uniform_degrees.hpp"

namespace penstock::score {
namespace {

using core::OpId;
using plan::MemoryKind;

/// One part of the model as a stage of one rank.
plan::Stage stage_of(const std::vector<OpId>& operators, const UniformDegrees& degrees, std::int64_t replicas) {
  plan::Stage out;
  out.operators = operators;
  const std::int64_t devices = replicas * degrees.tensor * degrees.context;
  for (std::int64_t d = 0; d < devices; ++d) out.devices.emplace_back(static_cast<std::size_t>(d));
  out.micro_batch = out.in_flight = degrees.micro_batch * replicas;
  out.tensor_parallel = degrees.tensor;
  out.context_parallel = degrees.context;
  out.context_exchange = degrees.exchange;
  out.expert_parallel = degrees.expert;
  out.whole_experts = degrees.whole_experts;
  out.sequence_parallel = degrees.divides_tokens;
  return out;
}

/// Work of the model on one replica, one micro-batch.
struct ReplicaWork {
  double seconds = 0;             ///< all parts, everything saved
  double least_layer = std::numeric_limits<double>::infinity();
  std::size_t like = 0;           ///< a layer of the kind with most work
  double equal = 0;               ///< layers of this kind
  std::vector<LayerOption> options;  ///< of all of them
};

class UniformBoundSearch {
 public:
  UniformBoundSearch(const cost::Problem& problem, const plan::LayerRow& row, const UniformSpace& space,
                     const std::function<void()>& check)
      : problem_(problem), row_(row), space_(space), check_(check) {
    if (problem.cluster.types().size() != 1)
      throw core::BadInput("bounds by degrees hold for clusters of one device type");
    memo_.serve(problem_);
    parts_.resize(static_cast<std::size_t>(row.parts()));
    for (std::size_t v = 0; v < row.part_of.size(); ++v) {
      parts_[static_cast<std::size_t>(row.part_of[v])].emplace_back(v);
      operators_.emplace_back(v);
    }
    std::erase_if(parts_, [](const auto& part) { return part.empty(); });
  }

  UniformBounds all() {
    UniformBounds out;
    out.least_memory = core::Bytes(std::numeric_limits<std::int64_t>::max());
    const auto devices = static_cast<std::int64_t>(problem_.cluster.size());
    for (const UniformDegrees& degrees : replica_degrees(devices, space_))
      for_each_completion(degrees, devices, problem_.training.mini_batch,
                          static_cast<std::int64_t>(parts_.size()), [&](const UniformDegrees& each) {
                            if (check_) check_();
                            if (!possible(each)) return;
                            ++out.tried;
                            const UniformBound bound = bound_of(each);
                            out.least_memory = std::min(out.least_memory, bound.least_memory);
                            if (bound.reason != UniformReason::no_fit) out.fitting.push_back(bound);
                          });
    std::ranges::stable_sort(out.fitting, {}, &UniformBound::time);
    return out;
  }

 private:
  /// Key of everything that a replica's work depends on.
  using WorkKey = std::tuple<int, int, plan::ContextExchange, int, bool, bool, std::int64_t>;
  static WorkKey key(const UniformDegrees& d) {
    return {d.tensor, d.context, d.exchange, d.expert, d.whole_experts, d.divides_tokens, d.micro_batch};
  }

  /// True if operators of all parts can be divided so.
  bool possible(const UniformDegrees& degrees) {
    auto [known, fresh] = possible_.try_emplace(key(degrees), false);
    if (!fresh) return known->second;
    plan::Plan whole;
    whole.stages = {stage_of(operators_, degrees, least_replicas(degrees))};
    whole.training = problem_.training;
    return known->second = layout::context_violations(problem_.graph, whole).empty() &&
                           layout::expert_violations(problem_.graph, whole).empty();
  }

  /// [set] seconds on the first replica of a stage that has the whole model: where the model is cut, layouts
  /// within the parts stay the same, and nothing is saved.
  std::vector<double> seconds(const UniformDegrees& degrees, const plan::Recomputation& again,
                              cost::OperatorSets sets) const {
    plan::Stage whole = stage_of(operators_, degrees, least_replicas(degrees));
    whole.recompute = again;
    cost::ReplicaTimes times(problem_, whole, std::move(sets));
    std::vector<double> out;
    for (const cost::StageTime& time : times.times(0, degrees.micro_batch))
      out.push_back(time.total().total().value());
    return out;
  }
  double kept(const plan::Stage& stage, std::int64_t samples) const {
    const cost::StageLoad load = cost::stage_load(problem_, stage);
    const core::Bytes made = stage.recompute ? core::Bytes(0) : load.activations * samples + load.statistics;
    return static_cast<double>(((load.saved * samples + made) * problem_.memory.activation_copies).value());
  }

  const ReplicaWork& work_of(const UniformDegrees& degrees) {
    auto [known, fresh] = work_.try_emplace(key(degrees));
    ReplicaWork& out = known->second;
    if (!fresh) return out;
    struct EqualLayers {
      double seconds = 0, kept = 0;
      std::size_t like = 0, count = 0;
    };
    std::map<std::pair<double, double>, EqualLayers> kinds;
    const std::int64_t replicas = least_replicas(degrees);
    const std::vector<double> times = seconds(degrees, {}, parts_);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const double time = times[k],
                   bytes = kept(stage_of(parts_[k], degrees, replicas), degrees.micro_batch);
      out.seconds += time;
      const std::int32_t part = row_.part_of[parts_[k].front().index()];
      if (part == 0 || part == row_.head()) continue;
      out.least_layer = std::min(out.least_layer, time);
      EqualLayers& equal = kinds[{time, bytes}];
      equal = {time, bytes, k, equal.count + 1};
    }
    const EqualLayers& most =
        std::ranges::max_element(kinds, {}, [](const auto& kind) {
          return kind.second.seconds * static_cast<double>(kind.second.count);
        })->second;
    out.like = most.like;
    out.equal = static_cast<double>(most.count);
    for (const plan::Recomputation& again : recomputations()) {
      plan::Stage stage = stage_of(parts_[most.like], degrees, replicas);
      stage.recompute = again;
      out.options.push_back({out.equal * seconds(degrees, again, {parts_[most.like]}).front(),
                             out.equal * kept(stage, degrees.micro_batch)});
    }
    return out;
  }
  std::vector<plan::Recomputation> recomputations() const {
    std::vector<plan::Recomputation> out = {{}};
    if (space_.core) out.push_back(plan::kRecomputeCore);
    if (space_.layers) out.push_back(plan::kRecomputeLayers);
    return out;
  }

  /// Weights, gradients and optimizer state of one layer on one device.
  double state(std::size_t part, const UniformDegrees& degrees) const {
    plan::Stage stage = stage_of(parts_[part], degrees, degrees.replicas);
    stage.zero = stage.has_copies() ? space_.zero : 0;
    const auto memory = cost::stage_memory(cost::stage_load(problem_, stage), problem_.memory, problem_.training,
                                           degrees.micro_batch, 0, 0, plan::replica_placement(stage));
    core::Bytes out;
    for (const MemoryKind kind : {MemoryKind::weights, MemoryKind::gradients, MemoryKind::optimizer})
      out += plan::at(memory, kind);
    return static_cast<double>(out.value());
  }

  UniformBound bound_of(const UniformDegrees& degrees) {
    const ReplicaWork& work = work_of(degrees);
    UniformBound out{.degrees = degrees,
                     .micro_batches =
                         problem_.training.mini_batch / (degrees.micro_batch * degrees.replicas),
                     .work = core::Seconds(work.seconds)};
    const FluidPipeline layers{
        .options = work.options,
        .state = work.equal * state(work.like, degrees),
        .memory = static_cast<double>(problem_.cluster.types().front().memory.value()),
        .micro_batches = out.micro_batches,
        .ranks = degrees.ranks};
    out.least_memory = core::Bytes(static_cast<std::int64_t>(least_memory(layers)));
    if (out.least_memory > problem_.cluster.types().front().memory) {
      out.reason = UniformReason::no_fit;
      return out;
    }
    std::optional<double> least;
    for (const PipelineFill& fill : fills(degrees, work, out.micro_batches)) {
      const double unlimited = least_unlimited(work.seconds, out.micro_batches, degrees.ranks, fill);
      const auto limited = least_limited(layers, fill);
      const double here = std::max(unlimited, limited.value_or(unlimited));
      if (least && *least <= here) continue;
      least = here;
      out.reason = here > unlimited ? UniformReason::memory : UniformReason::work;
    }
    constexpr double kRounding = 1 - 1e-9;
    out.time = core::Seconds(*least * kRounding);
    return out;
  }
  std::vector<PipelineFill> fills(const UniformDegrees& degrees, const ReplicaWork& work,
                                  std::int64_t micro_batches) const {
    std::vector<PipelineFill> out = {{}};
    const bool filled = !space_.interleaved_filled || micro_batches >= degrees.ranks;
    const bool several = degrees.ranks * 2 <= static_cast<std::int64_t>(parts_.size());
    if (space_.interleaved && filled && several) out.push_back({false, work.least_layer});
    return out;
  }

  cost::Problem problem_;
  cost::StageMemo memo_;
  const plan::LayerRow& row_;
  const UniformSpace& space_;
  const std::function<void()>& check_;
  std::vector<std::vector<OpId>> parts_;
  std::vector<OpId> operators_;
  std::map<WorkKey, ReplicaWork> work_;
  std::map<WorkKey, bool> possible_;
};

}  // namespace

UniformBounds uniform_bounds(const cost::Problem& problem, const plan::LayerRow& row, const UniformSpace& space,
                             const std::function<void()>& check) {
  return UniformBoundSearch(problem, row, space, check).all();
}

}  // namespace penstock::score
