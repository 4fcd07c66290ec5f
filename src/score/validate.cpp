#include "penstock/score/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/layout/ties.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/plan_pipeline.hpp"

namespace penstock::score {

namespace {

/// Micro-batches of each stage, at the most.
struct Held {
  std::vector<std::int64_t> whole;     ///< beyond what enters
  std::vector<std::int32_t> deferred;  ///< between the halves of a split backward pass
};

/// A whole backward pass follows its recomputation; elsewhere the order tells.
Held held(const cost::Problem& problem, const plan::Plan& judged) {
  Held out;
  std::vector<std::int32_t> recomputed(judged.stages.size(), 1);
  out.deferred.resize(judged.stages.size());
  if (!schedule::per_stage(judged) && !whole_backwards(judged)) {
    const auto order = order_of(problem, judged);
    recomputed = schedule::most_recomputed(order);
    out.deferred = schedule::most_deferred(order);
  }
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const plan::Stage& stage = judged.stages[s];
    const std::int64_t in_flight = stage.in_flight / stage.micro_batch;
    const std::int64_t again = stage.recompute.outlasts_input_gradient() ? recomputed[s] : 1;
    out.whole.push_back(stage.recompute ? std::min(in_flight, again) : in_flight);
  }
  return out;
}

}  // namespace

std::vector<plan::MemoryByKind> stage_memories(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<plan::MemoryByKind> out;
  const auto copies = schedule::weight_copies(judged);
  const Held most = held(problem, judged);
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const plan::Stage& stage = judged.stages[s];
    const auto load = cost::stage_load(problem, stage);
    const std::int64_t samples = plan::samples_per_device(judged, stage);
    out.push_back(cost::stage_memory(load, problem.memory, problem.training, samples,
                                     stage.in_flight / stage.micro_batch, most.whole[s],
                                     plan::replica_placement(stage)));
    if (problem.memory.transient)
      at(out.back(), plan::MemoryKind::buffers) += load.deferred.at(samples) * most.deferred[s];
    at(out.back(), plan::MemoryKind::versions) = load.parameters * copies[s];
  }
  return out;
}

namespace {

/// Stages that share their devices add up.
struct RankMemory {
  std::vector<std::size_t> stages;
  core::Bytes needed;
};

std::vector<RankMemory> by_rank(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<RankMemory> ranks;
  const auto rank_of_stage = plan::rank_of_stage(judged);
  const auto memories = stage_memories(problem, judged);
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const auto r = static_cast<std::size_t>(rank_of_stage[s]);
    ranks.resize(std::max(ranks.size(), r + 1));
    ranks[r].stages.push_back(s);
    ranks[r].needed += plan::total(memories[s]);
  }
  return ranks;
}

/// What operators allow.
std::vector<std::string> layout_violations(const graph::OpGraph& graph, const plan::Plan& judged) {
  auto out = layout::context_violations(graph, judged);
  const auto experts = layout::expert_violations(graph, judged);
  out.insert(out.end(), experts.begin(), experts.end());
  return out.empty() ? layout::tie_violations(graph, judged) : out;
}

std::vector<std::string> order_violations(const cost::Problem& problem, const plan::Plan& judged) {
  try {
    (void)schedule::weight_copies(judged);  // whether there is an order that its weights allow
    return schedule::order_violations(judged, order_of(problem, judged));
  } catch (const core::BadInput& e) {
    return {e.what()};
  }
}

}  // namespace

std::vector<std::string> stage_violations(const cost::Problem& problem, const plan::Plan& judged) {
  auto out = plan::structural_violations(problem.graph, problem.cluster, judged);
  return out.empty() ? layout_violations(problem.graph, judged) : out;
}

std::vector<std::string> rule_violations(const cost::Problem& problem, const plan::Plan& judged) {
  auto out = stage_violations(problem, judged);
  return out.empty() ? order_violations(problem, judged) : out;
}

bool fits_memory(const cost::Problem& problem, const plan::Plan& judged) {
  return std::ranges::all_of(by_rank(problem, judged), [&](const RankMemory& rank) {
    return std::ranges::all_of(judged.stages[rank.stages.front()].devices, [&](core::DeviceId d) {
      return rank.needed <= problem.cluster.type(d).memory;
    });
  });
}

std::vector<std::string> memory_violations(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<std::string> out;
  for (const RankMemory& rank : by_rank(problem, judged)) {
    for (core::DeviceId d : judged.stages[rank.stages.front()].devices) {
      const core::Bytes has = problem.cluster.type(d).memory;
      if (rank.needed > has)
        out.push_back(fmt::format("stage{} {} need{} {} on device {}, which has {}: {} missing",
                                  rank.stages.size() > 1 ? "s" : "", fmt::join(rank.stages, ", "),
                                  rank.stages.size() > 1 ? "" : "s", core::show(rank.needed), d.index(),
                                  core::show(has), core::show(rank.needed - has)));
    }
  }
  return out;
}

std::vector<std::string> violations(const cost::Problem& problem, const plan::Plan& judged) {
  if (auto out = plan::structural_violations(problem.graph, problem.cluster, judged); !out.empty())
    return out;
  auto out = layout_violations(problem.graph, judged);
  const auto order = order_violations(problem, judged);
  out.insert(out.end(), order.begin(), order.end());
  try {
    const auto memory = memory_violations(problem, judged);
    out.insert(out.end(), memory.begin(), memory.end());
  } catch (const core::BadInput&) {  // nobody knows what an order holds that cannot be made; order_violations
                                     // says why
  }
  return out;
}

}  // namespace penstock::score
