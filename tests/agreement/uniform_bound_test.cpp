// Bounds by degrees hold for every plan of a framework that the simulator runs.

#include "penstock/score/uniform_bound.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "models/catalogue.hpp"
#include "penstock/cluster/runtime.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"

using namespace penstock;
using score::UniformDegrees;

namespace {

template <class Item>
const Item& one_of(const std::vector<Item>& items, core::Random& random) {
  return items[static_cast<std::size_t>(random.between(0, static_cast<int>(items.size()) - 1))];
}

/// A small language model on 8 or 16 GPUs of little memory.
struct SmallRun {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  std::shared_ptr<const cost::CostModel> costs;
  plan::Training training;
  plan::LayerRow row;
  cost::Problem problem() const { return {graph, cluster, *costs, training}; }
};

SmallRun small_run(std::uint64_t seed) {
  core::Random random(seed);
  const bool mixture = random.chance(0.3);
  const std::string layers = std::to_string(random.between(2, 9));
  auto graph = mixture ? models::build("mixtral", {{"layers", layers},
                                                   {"hidden", "1024"},
                                                   {"heads", "8"},
                                                   {"kv_heads", "4"},
                                                   {"expert_width", "2048"},
                                                   {"experts", "8"},
                                                   {"sequence", "1024"},
                                                   {"vocabulary", "8000"},
                                                   {"element_bytes", "2"}})
                       : models::build("llama", {{"layers", layers},
                                                 {"hidden", "1024"},
                                                 {"heads", "8"},
                                                 {"kv_heads", "4"},
                                                 {"feed_forward", "2816"},
                                                 {"sequence", "2048"},
                                                 {"vocabulary", "16000"},
                                                 {"element_bytes", "2"}});
  auto cluster = experiment::load_cluster({random.chance(0.5) ? "8xH100" : "4xA100-80x2"})
                     .run_by(cluster::runtime("megatron"));
  auto row = std::get<plan::LayerRow>(plan::layer_row(graph));
  plan::Training training{.mini_batch = 16 << random.between(0, 2), .optimizer = plan::Optimizer::adam};
  training.precision = plan::mixed_precision("mixed_bf16");
  auto costs = experiment::load_costs(random.chance(0.5) ? std::optional<std::string>()
                                                         : std::string(experiment::kDataSheet));
  const core::Bytes left(static_cast<std::int64_t>((1.5 + 8 * random.unit()) * (1 << 30)));
  cluster = cluster.reserving(cluster.types().front().memory - left);
  return {std::move(graph), std::move(cluster), std::move(costs), training, std::move(row)};
}

score::UniformSpace megatron_space(bool experts) {
  using enum plan::ContextExchange;
  score::UniformSpace out;
  out.experts = experts;
  out.zero = 1;
  out.context = {ring, all_gather, ulysses};
  return out;
}

/// Cuts of the row's parts into so many stages, each with at least one.
std::vector<std::int32_t> drawn_ends(std::int32_t parts, std::size_t stages, core::Random& random) {
  std::vector<std::int32_t> out;
  for (std::size_t s = 0; s + 1 < stages; ++s) {
    const std::int32_t first = out.empty() ? 0 : out.back();
    const auto left = static_cast<std::int32_t>(stages - s - 1);
    const std::int32_t even = std::max(1, (parts - first) / (left + 1));
    out.push_back(std::min(parts - left, first + std::max(1, random.between(even - 1, even + 1))));
  }
  out.push_back(parts);
  return out;
}

plan::Plan drawn_plan(const SmallRun& run, const UniformDegrees& degrees, core::Random& random) {
  plan::Plan out;
  out.training = run.training;
  const auto ranks = static_cast<std::size_t>(degrees.ranks);
  std::size_t chunks = 1;
  if (ranks > 1 && random.chance(0.5))
    chunks = static_cast<std::size_t>(random.between(1, run.row.parts() / static_cast<int>(ranks)));
  out.schedule = chunks > 1 ? "interleaved_1f1b" : "1f1b";
  const auto ends = drawn_ends(run.row.parts(), ranks * chunks, random);
  const std::size_t devices = run.cluster.size() / ranks;
  const plan::Recomputation again =
      one_of<plan::Recomputation>({{},
                                   plan::kRecomputeCore,
                                   plan::kRecomputeLayers,
                                   {plan::Recomputation::SegmentScope::layers, false, 1}},
                                  random);
  for (std::size_t s = 0; s < ends.size(); ++s) {
    plan::Stage& stage = out.stages.emplace_back();
    for (std::size_t d = 0; d < devices; ++d) stage.devices.emplace_back(s % ranks * devices + d);
    for (std::size_t v = 0; v < run.graph.size(); ++v)
      if (run.row.part_of[v] < ends[s] && run.row.part_of[v] >= (s == 0 ? 0 : ends[s - 1]))
        stage.operators.emplace_back(v);
    stage.micro_batch = degrees.micro_batch * degrees.replicas;
    stage.tensor_parallel = degrees.tensor;
    stage.context_parallel = degrees.context;
    stage.context_exchange = degrees.exchange;
    stage.expert_parallel = degrees.expert;
    stage.whole_experts = degrees.whole_experts;
    stage.sequence_parallel = degrees.divides_tokens;
    stage.recompute = again;
    stage.zero = stage.has_copies() ? 1 : 0;
  }
  return out;
}

}  // namespace

TEST_CASE("no plan of a framework is faster than the bound of its degrees") {
  int judged = 0, limited = 0;
  double tightest = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const SmallRun run = small_run(seed);
    core::Random random(seed + 1000);
    const cost::Problem problem = run.problem();
    const bool experts = seed % 2 == 0;
    const auto bounds = score::uniform_bounds(problem, run.row, megatron_space(experts));
    CHECK(bounds.tried >= bounds.fitting.size());
    if (bounds.fitting.empty()) continue;
    std::vector<score::UniformBound> short_of_memory,
        best(bounds.fitting.begin(),
             bounds.fitting.begin() + std::min<std::ptrdiff_t>(8, std::ssize(bounds.fitting)));
    for (const auto& bound : bounds.fitting)
      if (bound.reason == score::UniformReason::memory) short_of_memory.push_back(bound);
    for (int i = 0; i < 120; ++i) {
      const auto& from = i % 3 == 0                               ? best
                         : i % 3 == 1 && !short_of_memory.empty() ? short_of_memory
                                                                  : bounds.fitting;
      const score::UniformBound& bound = one_of(from, random);
      plan::Plan plan = drawn_plan(run, bound.degrees, random);
      try {
        score::derive_in_flight(problem, plan);
        if (!score::violations(problem, plan).empty()) continue;
      } catch (const core::BadInput&) {
        continue;
      }
      const double time =
          to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan), {})).value();
      INFO("seed ", seed, ": ", score::written(bound.degrees), " ", plan.schedule, " ", plan.stages.size(),
           " stages, recompute ", plan::written(plan.stages.front().recompute));
      CHECK(bound.time.value() <= time);
      ++judged;
      limited += bound.reason == score::UniformReason::memory;
      tightest = std::max(tightest, bound.time.value() / time);
    }
  }
  CHECK(judged > 150);
  CHECK(limited > 10);
  CHECK(tightest > 0.9);
}
