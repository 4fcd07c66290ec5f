#include "rank_memory.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "penstock/cost/sharding.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/plan_pipeline.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::score {
namespace {

using core::Bytes;
using plan::MemoryKind;
using schedule::ActionKind;

/// [stage] maximum number of micro-batches.
struct HeldMicroBatches {
  std::vector<std::int64_t> whole;     ///< beyond the input
  std::vector<std::int32_t> deferred;  ///< between the halves of a split backward pass
};

/// Order of the plan, if in-flight counts do not determine memory; a whole backward pass follows its
/// recomputation, so then they do.
std::optional<schedule::Schedule> telling_order(const cost::Problem& problem, const plan::Plan& judged) {
  if (schedule::per_stage(judged) || whole_backwards(judged)) return {};
  return order_of(problem, judged);
}

HeldMicroBatches held(const plan::Plan& judged, const std::optional<schedule::Schedule>& order) {
  HeldMicroBatches out;
  std::vector<std::int32_t> recomputed(judged.stages.size(), 1);
  out.deferred.resize(judged.stages.size());
  if (order) {
    recomputed = schedule::most_recomputed(*order);
    out.deferred = schedule::most_deferred(*order);
  }
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const plan::Stage& stage = judged.stages[s];
    const std::int64_t in_flight = stage.in_flight / stage.micro_batch;
    const std::int64_t again = stage.recompute.outlasts_input_gradient() ? recomputed[s] : 1;
    out.whole.push_back(stage.recompute ? std::min(in_flight, again) : in_flight);
  }
  return out;
}

std::vector<plan::MemoryByKind> stage_memories(const cost::Problem& problem, const plan::Plan& judged,
                                               const std::optional<schedule::Schedule>& order) {
  std::vector<plan::MemoryByKind> out;
  const auto copies = schedule::weight_copies(judged);
  const HeldMicroBatches most = held(judged, order);
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const plan::Stage& stage = judged.stages[s];
    const auto load = cost::stage_load(problem, stage);
    const std::int64_t samples = plan::samples_per_device(judged, stage);
    out.push_back(cost::stage_memory(load, problem.memory, problem.training, samples,
                                     stage.in_flight / stage.micro_batch, most.whole[s],
                                     plan::replica_placement(stage)));
    if (problem.memory.transient)
      at(out.back(), MemoryKind::buffers) += load.deferred.at(samples) * most.deferred[s];
    at(out.back(), MemoryKind::versions) = load.parameters * copies[s];
  }
  return out;
}

/// Bytes that one micro-batch keeps in a stage.
struct KeptBytes {
  Bytes from_forward;   ///< until the end of its backward pass or weight gradient
  Bytes from_again;     ///< from recomputation until then, or until the end of the input gradient
  Bytes from_backward;  ///< from the input gradient to the end of the weight gradient
  bool lasts = true;    ///< whether recomputed tensors last until the weight gradient
};

KeptBytes kept(const cost::Problem& problem, const plan::Plan& judged, const plan::Stage& stage) {
  const auto load = cost::stage_load(problem, stage);
  const std::int64_t samples = plan::samples_per_device(judged, stage),
                     copies = problem.memory.activation_copies;
  const Bytes made = (load.activations * samples + load.statistics) * copies;
  KeptBytes out;
  out.from_forward = (load.saved + load.inputs) * (samples * copies);
  (stage.recompute ? out.from_again : out.from_forward) += made;
  if (problem.memory.transient) out.from_backward = load.deferred.at(samples);
  out.lasts = stage.recompute.outlasts_input_gradient();
  return out;
}

/// Bytes allocated at the beginning of a pass, and those freed at its end.
Bytes begun(const schedule::Action& pass, const KeptBytes& kept) {
  if (pass.kind == ActionKind::forward) return kept.from_forward;
  if (pass.kind == ActionKind::recompute) return kept.from_again;
  return pass.kind == ActionKind::input_gradient ? kept.from_backward : Bytes(0);
}
Bytes ended(const schedule::Action& pass, const KeptBytes& kept) {
  if (pass.kind == ActionKind::input_gradient) return kept.lasts ? Bytes(0) : kept.from_again;
  if (pass.kind == ActionKind::backward) return kept.from_forward + kept.from_again;
  if (pass.kind != ActionKind::weight_gradient) return Bytes(0);
  return kept.from_forward + kept.from_backward + (kept.lasts ? kept.from_again : Bytes(0));
}

/// Maximum bytes kept during the row; `by_stage` has an entry for every stage of the row.
Bytes most_kept(const schedule::RankOrder& row, const std::vector<KeptBytes>& by_stage) {
  Bytes now, most;
  const auto of = [&](const schedule::Action& pass) {
    return by_stage[static_cast<std::size_t>(pass.stage)];
  };
  for (const schedule::Action& action : row) {
    const schedule::Parts passes = schedule::parts(action);
    for (const schedule::Action& pass : passes)
      if (pass.stage >= 0) now += begun(pass, of(pass));
    most = std::max(most, now);
    for (const schedule::Action& pass : passes)
      if (pass.stage >= 0) now -= ended(pass, of(pass));
  }
  return most;
}

/// Bytes needed by stages that take turns on a device.
Bytes needed_in_turn(const cost::Problem& problem, const plan::Plan& judged,
                     const std::vector<std::size_t>& stages, const schedule::RankOrder& row) {
  Bytes fixed, workspace;
  std::vector<KeptBytes> by_stage(judged.stages.size());
  for (const std::size_t s : stages) {
    const plan::Stage& stage = judged.stages[s];
    by_stage[s] = kept(problem, judged, stage);
    auto memory =
        cost::stage_memory(cost::stage_load(problem, stage), problem.memory, problem.training,
                           plan::samples_per_device(judged, stage), 0, 0, plan::replica_placement(stage));
    workspace = std::max(workspace, std::exchange(at(memory, MemoryKind::workspace), Bytes(0)));
    fixed += plan::total(memory);
  }
  return fixed + workspace + most_kept(row, by_stage);
}

}  // namespace

std::vector<plan::MemoryByKind> stage_memories(const cost::Problem& problem, const plan::Plan& judged) {
  return stage_memories(problem, judged, telling_order(problem, judged));
}

std::vector<RankMemory> rank_memories(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<RankMemory> out;
  const auto order = telling_order(problem, judged);
  const auto memories = stage_memories(problem, judged, order);
  const auto rank_of_stage = plan::rank_of_stage(judged);
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const auto r = static_cast<std::size_t>(rank_of_stage[s]);
    out.resize(std::max(out.size(), r + 1));
    out[r].stages.push_back(s);
    out[r].needed += plan::total(memories[s]);
  }
  for (std::size_t r = 0; r < out.size() && order && !plan::has_colocated(judged); ++r)
    if (out[r].stages.size() > 1)
      out[r].needed = needed_in_turn(problem, judged, out[r].stages, order->ranks[r]);
  return out;
}

bool fits_memory(const cost::Problem& problem, const plan::Plan& judged) {
  return std::ranges::all_of(rank_memories(problem, judged), [&](const RankMemory& rank) {
    return std::ranges::all_of(judged.stages[rank.stages.front()].devices, [&](core::DeviceId d) {
      return rank.needed <= problem.cluster.type(d).memory;
    });
  });
}

}  // namespace penstock::score
