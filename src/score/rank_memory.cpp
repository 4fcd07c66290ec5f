#include "rank_memory.hpp"

#include <algorithm>
#include <utility>

#include "penstock/cost/retained_inputs.hpp"
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

/// Bytes that one micro-batch keeps in a stage.
struct KeptBytes {
  Bytes from_forward;  ///< until the end of its backward pass or weight gradient
  Bytes from_again;    ///< from recomputation until then, or until the end of the input gradient
  Bytes
      from_backward;  ///< from the end of the input gradient to that of the weight gradient; with recomputed
                      ///< cores from the begin
  Bytes released;     ///< of the first two: until the end of the input gradient
  bool lasts = true;  ///< whether recomputed tensors last until the weight gradient
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
  out.released = load.released * (samples * copies);
  out.lasts = stage.recompute.outlasts_input_gradient();
  return out;
}

/// Activations and buffers that are allocated or, below zero, freed.
struct ByteChange {
  Bytes activations, buffers;
  Bytes total() const { return activations + buffers; }
  ByteChange& operator+=(const ByteChange& other) {
    activations += other.activations;
    buffers += other.buffers;
    return *this;
  }
};

ByteChange begun(const schedule::Action& pass, const KeptBytes& kept) {
  if (pass.kind == ActionKind::forward) return {kept.from_forward, {}};
  if (pass.kind == ActionKind::recompute) return {kept.from_again, {}};
  if (pass.kind == ActionKind::input_gradient && !kept.lasts) return {{}, kept.from_backward};
  return {};
}
ByteChange ended(const schedule::Action& pass, const KeptBytes& kept) {
  const Bytes none, passing = kept.lasts ? none : kept.from_again;
  if (pass.kind == ActionKind::input_gradient)
    return {none - kept.released - passing, kept.lasts ? kept.from_backward : none};
  if (pass.kind == ActionKind::backward) return {none - kept.from_forward - kept.from_again, {}};
  if (pass.kind != ActionKind::weight_gradient) return {};
  return {kept.released + passing - kept.from_forward - kept.from_again, none - kept.from_backward};
}

/// Bytes kept at fullest moments of an order.
struct FullestMoments {
  std::vector<ByteChange> by_stage;  ///< [stage] at the fullest moment of that stage
  std::vector<ByteChange> by_rank;   ///< [rank] of all its stages together, at their fullest moment
};

void raise(ByteChange& most, const ByteChange& now) {
  if (now.total() > most.total()) most = now;
}

/// Walks through every row once.
FullestMoments fullest_moments(const cost::Problem& problem, const plan::Plan& judged,
                               const schedule::Schedule& order) {
  const auto rank_of_stage = plan::rank_of_stage(judged);
  std::vector<KeptBytes> keeps;
  for (const plan::Stage& stage : judged.stages) keeps.push_back(kept(problem, judged, stage));
  FullestMoments out{std::vector<ByteChange>(keeps.size()), std::vector<ByteChange>(order.ranks.size())};
  std::vector<ByteChange> now(keeps.size());
  for (std::size_t r = 0; r < order.ranks.size(); ++r) {
    ByteChange all;
    const auto lives_here = [&](std::size_t stage) {
      return stage < keeps.size() && static_cast<std::size_t>(rank_of_stage[stage]) == r;
    };
    for (const schedule::Action& action : order.ranks[r]) {
      const schedule::ActionParts passes = schedule::parts(action);
      for (const bool ends : {false, true}) {
        for (const schedule::Action& pass : passes) {
          const auto stage = static_cast<std::size_t>(pass.stage);
          if (!lives_here(stage)) continue;
          const ByteChange change = ends ? ended(pass, keeps[stage]) : begun(pass, keeps[stage]);
          now[stage] += change, all += change;
        }
        for (const schedule::Action& pass : passes)
          if (const auto stage = static_cast<std::size_t>(pass.stage); lives_here(stage))
            raise(out.by_stage[stage], now[stage]);
        raise(out.by_rank[r], all);
      }
    }
  }
  return out;
}

/// Empty if in-flight counts determine memory. A whole backward pass follows its recomputation, so then they do.
FullestMoments moments_of(const cost::Problem& problem, const plan::Plan& judged) {
  if (schedule::per_stage(judged) || whole_backwards(judged)) return {};
  return fullest_moments(problem, judged, order_of(problem, judged));
}

/// `moments`: empty if in-flight counts determine memory.
std::vector<plan::MemoryByKind> stage_memories(const cost::Problem& problem, const plan::Plan& judged,
                                               const FullestMoments& moments) {
  std::vector<plan::MemoryByKind> out;
  const auto copies = schedule::weight_copies(judged);
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const plan::Stage& stage = judged.stages[s];
    const auto load = cost::stage_load(problem, stage);
    const std::int64_t samples = plan::samples_per_device(judged, stage),
                       in_flight = stage.in_flight / stage.micro_batch;
    out.push_back(cost::stage_memory(load, problem.memory, problem.training, samples, in_flight,
                                     stage.recompute ? std::min<std::int64_t>(in_flight, 1) : in_flight,
                                     plan::replica_placement(stage)));
    at(out.back(), MemoryKind::versions) = load.parameters * copies[s];
    if (!moments.by_stage.empty()) {
      at(out.back(), MemoryKind::activations) = moments.by_stage[s].activations;
      at(out.back(), MemoryKind::buffers) += moments.by_stage[s].buffers;
    }
    at(out.back(), MemoryKind::activations) += cost::retained_inputs(problem, stage, load, samples);
  }
  return out;
}

/// Bytes needed by stages that take turns on a device and together keep `most` at their fullest moment.
Bytes needed_in_turn(const cost::Problem& problem, const plan::Plan& judged,
                     const std::vector<std::size_t>& stages, Bytes most) {
  Bytes fixed, workspace, buffers, buckets, steps;
  for (const std::size_t s : stages) {
    const plan::Stage& stage = judged.stages[s];
    const std::int64_t samples = plan::samples_per_device(judged, stage);
    const auto load = cost::stage_load(problem, stage);
    auto memory = cost::stage_memory(load, problem.memory, problem.training, samples, 0, 0,
                                     plan::replica_placement(stage));
    at(memory, MemoryKind::activations) += cost::retained_inputs(problem, stage, load, samples);
    const auto take = [&](MemoryKind kind) { return std::exchange(at(memory, kind), Bytes(0)); };
    workspace = std::max(workspace, take(MemoryKind::workspace));
    buckets = std::max(buckets, take(MemoryKind::buckets));
    buffers += take(MemoryKind::buffers);
    steps += take(MemoryKind::step);
    fixed += plan::total(memory);
  }
  return fixed + buckets + std::max(workspace + buffers + most, steps);
}

}  // namespace

std::vector<plan::MemoryByKind> stage_memories(const cost::Problem& problem, const plan::Plan& judged) {
  return stage_memories(problem, judged, moments_of(problem, judged));
}

std::vector<RankMemory> rank_memories(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<RankMemory> out;
  const FullestMoments moments = moments_of(problem, judged);
  const auto memories = stage_memories(problem, judged, moments);
  const auto rank_of_stage = plan::rank_of_stage(judged);
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const auto r = static_cast<std::size_t>(rank_of_stage[s]);
    out.resize(std::max(out.size(), r + 1));
    out[r].stages.push_back(s);
    out[r].needed += plan::total(memories[s]);
  }
  for (std::size_t r = 0; r < out.size() && !moments.by_rank.empty() && !plan::has_colocated(judged); ++r)
    if (out[r].stages.size() > 1)
      out[r].needed = needed_in_turn(problem, judged, out[r].stages, moments.by_rank[r].total());
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
