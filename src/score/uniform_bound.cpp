#include "penstock/score/uniform_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "fluid_pipeline.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "replica_work.hpp"
#include "uniform_degrees.hpp"

namespace penstock::score {
namespace {

core::Bytes most_bytes() {
  return core::Bytes(std::numeric_limits<std::int64_t>::max());
}

void need_at_least(core::Bytes bytes, const UniformDegrees& degrees, UniformBounds& out) {
  if (bytes < out.least_memory) out.least_memory = bytes, out.least_degrees = degrees;
}

class UniformBoundSearch {
 public:
  UniformBoundSearch(const cost::Problem& problem, const plan::LayerRow& row, const UniformSpace& space,
                     const std::function<void()>& check)
      : problem_(problem), row_(row), space_(space), check_(check) {
    if (problem.cluster.types().size() != 1)
      throw core::BadInput("bounds by degrees hold for clusters of one device type");
    memo_.serve(problem_);
    memory_ = problem.cluster.types().front().memory;
  }

  UniformBounds all() const {
    const auto devices = static_cast<std::int64_t>(problem_.cluster.size());
    const auto degrees = replica_degrees(devices, space_);
    std::vector<UniformBounds> found(degrees.size());
    core::parallel_for(degrees.size(), [&](std::size_t i) { found[i] = bounds_of(degrees[i], devices); });
    UniformBounds out{.least_memory = most_bytes()};
    for (const UniformBounds& each : found) {
      out.fitting.insert(out.fitting.end(), each.fitting.begin(), each.fitting.end());
      out.tried += each.tried;
      need_at_least(each.least_memory, each.least_degrees, out);
    }
    std::ranges::stable_sort(out.fitting, {}, &UniformBound::time);
    return out;
  }

 private:
  /// Bounds of all ways to complete the degrees of a replica.
  UniformBounds bounds_of(const UniformDegrees& degrees, std::int64_t devices) const {
    UniformBounds out{.least_memory = most_bytes()};
    ReplicaModel model(problem_, row_, space_, degrees);
    std::map<std::int64_t, bool> possible;  // by micro-batch
    for_each_completion(degrees, devices, problem_.training.mini_batch, model.parts(),
                        [&](const UniformDegrees& each) {
                          if (check_) check_();
                          const auto [known, fresh] = possible.try_emplace(each.micro_batch, false);
                          if (fresh) known->second = model.possible(each.micro_batch);
                          if (!known->second) return;
                          const UniformBound bound = bound_of(model, each);
                          ++out.tried;
                          need_at_least(bound.least_memory, each, out);
                          if (bound.reason != UniformReason::no_fit) out.fitting.push_back(bound);
                        });
    return out;
  }

  UniformBound bound_of(ReplicaModel& model, const UniformDegrees& degrees) const {
    const ReplicaWork& work = model.work(degrees.micro_batch);
    UniformBound out{.degrees = degrees,
                     .micro_batches = problem_.training.mini_batch / (degrees.micro_batch * degrees.replicas),
                     .work = core::Seconds(work.seconds)};
    const ReplicaModel::StateBytes state = model.state(degrees.replicas);
    const FluidPipeline layers{.options = work.options,
                               .state = state.layers,
                               .memory = static_cast<double>(memory_.value()),
                               .before = state.before,
                               .behind = state.behind,
                               .micro_batches = out.micro_batches,
                               .ranks = degrees.ranks};
    out.least_memory = core::Bytes(static_cast<std::int64_t>(least_memory(layers)));
    if (out.least_memory > memory_) {
      out.reason = UniformReason::no_fit;
      return out;
    }
    std::optional<double> least;
    for (const PipelineFill& fill : fills(degrees, work, out.micro_batches, model.parts())) {
      const double unlimited = least_unlimited(work.seconds, out.micro_batches, degrees.ranks, fill);
      const double here = std::max(unlimited, least_limited(layers, fill).value_or(unlimited));
      if (least && *least <= here) continue;
      least = here;
      out.reason = here > unlimited ? UniformReason::memory : UniformReason::work;
    }
    constexpr double kRounding = 1 - 1e-9;
    out.time = core::Seconds(*least * kRounding);
    return out;
  }

  /// One stage per rank, and, where the space has them, several.
  std::vector<PipelineFill> fills(const UniformDegrees& degrees, const ReplicaWork& work,
                                  std::int64_t micro_batches, std::int64_t parts) const {
    std::vector<PipelineFill> out = {{}};
    const bool filled = !space_.interleaved_filled || micro_batches >= degrees.ranks;
    if (space_.interleaved && filled && degrees.ranks > 1 && degrees.ranks * 2 <= parts)
      out.push_back({false, work.least_layer});
    return out;
  }

  cost::Problem problem_;
  cost::StageMemo memo_;
  const plan::LayerRow& row_;
  const UniformSpace& space_;
  const std::function<void()>& check_;
  core::Bytes memory_;
};

}  // namespace

std::size_t uniform_effort(const cost::Problem& problem, const UniformSpace& space) {
  return replica_degrees(static_cast<std::int64_t>(problem.cluster.size()), space).size() *
         problem.graph.size();
}

UniformBounds uniform_bounds(const cost::Problem& problem, const plan::LayerRow& row,
                             const UniformSpace& space, const std::function<void()>& check) {
  return UniformBoundSearch(problem, row, space, check).all();
}

}  // namespace penstock::score
