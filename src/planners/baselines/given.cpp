#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "families.hpp"
#include "own_options.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/plan/recomputation.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

constexpr std::int64_t kMostLayers = 4'096, kMostDegree = std::int64_t{1} << 20;

constexpr const char* kLayers = "layers";

[[noreturn]] void refuse_layers(const std::vector<std::int64_t>& layers, const std::string& why) {
  throw core::BadInput(fmt::format("given: layers: {}: {}", fmt::join(layers, "-"), why));
}

/// [part of the row] its stage: the embedding is in the first stage, the head in the last.
std::vector<std::size_t> stage_of_part(const plan::LayerRow& row, const std::vector<std::int64_t>& layers) {
  const auto stated = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (stated != row.layers)
    refuse_layers(layers, fmt::format("{} layers, the model has {}", stated, row.layers));
  std::vector<std::size_t> out = {0};
  for (std::size_t s = 0; s < layers.size(); ++s)
    out.resize(out.size() + static_cast<std::size_t>(layers[s]), s);
  out.push_back(layers.size() - 1);
  return out;
}

/// One unit per stage, of the stated numbers of `layers`; the whole model in one unit if there are none.
UnitGraph stages_as_units(const graph::OpGraph& graph, const std::vector<std::int64_t>& layers) {
  UnitGraph out;
  out.operators.resize(std::max<std::size_t>(1, layers.size()));
  std::vector<std::size_t> stage_of(graph.size(), 0);
  if (!layers.empty()) {
    const auto read = plan::layer_row(graph);
    if (const auto* why = std::get_if<std::string>(&read)) refuse_layers(layers, *why);
    const auto& row = std::get<plan::LayerRow>(read);
    const auto stage = stage_of_part(row, layers);
    for (std::size_t v = 0; v < graph.size(); ++v)
      stage_of[v] = stage[static_cast<std::size_t>(row.part_of[v])];
  }
  for (std::size_t v = 0; v < graph.size(); ++v) out.operators[stage_of[v]].emplace_back(v);
  for (std::size_t s = 0; s < out.operators.size(); ++s)
    if (out.operators[s].empty()) refuse_layers(layers, fmt::format("stage {} would be empty", s));
  return out;
}

/// Throws BadInput if no stage has operators of this kind to recompute.
plan::Recomputation recomputation(const graph::OpGraph& graph, const UnitGraph& units,
                                  const std::string& what) {
  const plan::Recomputation out = plan::recomputation(what);
  const auto has = [&](const auto& stage) { return plan::applies(graph, stage, out); };
  if (out && std::ranges::none_of(units.operators, has))
    throw core::BadInput(fmt::format("given: recompute: {}: no stage has such operators", what));
  return out;
}

/// The row stated by the options, without its micro-batch.
EvenRow stated_row(const cost::Problem& problem, const UnitGraph& units, const OwnValues& own) {
  const std::size_t chunks = static_cast<std::size_t>(own.number("chunks")), stages = units.operators.size();
  if (stages % chunks != 0)
    throw core::BadInput(fmt::format("given: {} stages are not {} for each rank", stages, chunks));
  EvenRow row{.stages = stages,
              .schedule = chunks == 1 ? "1f1b" : "interleaved_1f1b",
              .recompute = recomputation(problem.graph, units, own.word("recompute")),
              .tensor_parallel = static_cast<int>(own.number("tensor_parallel")),
              .zero = static_cast<int>(own.number("zero")),
              .sequence_parallel = own.flag("sequence_parallel"),
              .context_parallel = static_cast<int>(own.number("context_parallel")),
              .expert_parallel = static_cast<int>(own.number("expert_parallel")),
              .whole_experts = own.flag("whole_experts")};
  const std::size_t ranks = stages / chunks, devices = problem.cluster.size(),
                    replica = ranks * static_cast<std::size_t>(row.tensor_parallel) *
                              static_cast<std::size_t>(row.context_parallel);
  if (devices % replica != 0)
    throw core::BadInput(
        fmt::format("given: {} devices are no multiple of {} ranks x tensor_parallel {} x "
                    "context_parallel {}",
                    devices, ranks, row.tensor_parallel, row.context_parallel));
  row.replicas = static_cast<int>(devices / replica);
  return row;
}

}  // namespace

const std::vector<PlannerOption>& given_options() {
  static const std::vector<PlannerOption> options = {
      numbers(kLayers, "all", 0, kMostLayers,
              "layers of each stage, in the model's order; the embedding goes with the first stage, the head "
              "with the last; all: one stage"),
      number("chunks", 1, 1, kMostLayers,
             "stages of a rank: stage s is on rank s mod ranks, interleaved 1F1B from 2 on"),
      number("tensor_parallel", 1, 1, kMostDegree, "devices of a tensor-parallel group, in all stages"),
      number("context_parallel", 1, 1, kMostDegree,
             "groups that divide the tokens of a replica's samples, round a ring, in all stages"),
      number("expert_parallel", 1, 1, kMostDegree,
             "replicas, context groups among them, that divide the experts of every mixture"),
      flag("whole_experts",
           "tensor parallelism divides no expert: devices of its groups hold different ones (needs "
           "sequence_parallel)"),
      number("zero", 0, 0, 3, "ZeRO stage, in all stages"),
      flag("sequence_parallel", "tensor-parallel groups divide tokens too"),
      words("recompute", {"none", "selective", "layers"},
            "what is computed again in the backward pass, in all stages that have it: attention's cores, or "
            "layers one after the other")};
  return options;
}

// Stages as stated, in one row over all devices, with as many replicas as the degrees leave. Only the
// micro-batch is chosen, the fastest power of two, unless it is fixed.
SearchResult given(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  const OwnValues own("given", given_options(), options.own);
  refuse_size_per_stage(options, "given");
  refuse_k(options, "given");
  const UnitGraph units = stages_as_units(problem.graph, own.numbers(kLayers));
  const EvenRow stated = stated_row(problem, units, own);
  const auto ranks = static_cast<std::int64_t>(stated.stages) / own.number("chunks");
  std::vector<EvenRow> rows;
  for (const std::int64_t micro_batch : shared_sizes(problem, options, stated.replicas)) {
    // Interleaved 1F1B runs in rounds of as many micro-batches as there are ranks.
    if (own.number("chunks") > 1 && problem.training.mini_batch / micro_batch % ranks != 0) continue;
    rows.push_back(stated);
    rows.back().micro_batch = micro_batch;
  }
  std::vector<std::size_t> ends(units.operators.size());
  std::iota(ends.begin(), ends.end(), std::size_t{1});
  const auto none = fmt::format(
      "no micro-batch that divides the mini-batch {} has a sample for each of {} replicas{}",
      problem.training.mini_batch, stated.replicas,
      own.number("chunks") > 1 ? fmt::format(" and makes rounds of {} micro-batches", ranks) : "");
  return fastest(
      problem, options, units, rows, [&](const EvenRow&) { return ends; }, none, stop);
}

}  // namespace penstock::planners
