#include <algorithm>
#include <map>

#include "penstock/frameworks/layer_plan.hpp"
#include "penstock/plan/colocated.hpp"

namespace penstock::frameworks {
namespace {

using core::OpId;
using plan::Plan;
using plan::Recomputation;
using plan::Stage;

/// [part] FLOPs in each stage; a part without any counts its operators.
std::vector<std::size_t> stages_by_work(const graph::OpGraph& graph, const Plan& plan,
                                        const plan::LayerRow& row) {
  std::vector<std::map<std::size_t, double>> work(static_cast<std::size_t>(row.parts()));
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const OpId id : plan.stages[s].operators)
      work[static_cast<std::size_t>(row.part_of[id.index()])][s] += graph.op(id).forward_flops.value() + 1;
  std::vector<std::size_t> out;
  for (const auto& shares : work) {
    const auto most = std::ranges::max_element(shares, {}, [](const auto& share) { return share.second; });
    const std::size_t before = out.empty() ? 0 : out.back();  // of a part without operators
    out.push_back(most == shares.end() ? before : most->first);
  }
  return out;
}

/// Where each stage ends, in parts: as most of the work lies, in the row's order, none empty.
std::vector<std::size_t> rounded_ends(std::vector<std::size_t> stage_of_part, std::size_t stages) {
  const std::size_t parts = stage_of_part.size();
  for (std::size_t p = 1; p < parts; ++p) stage_of_part[p] = std::max(stage_of_part[p], stage_of_part[p - 1]);
  std::vector<std::size_t> ends(stages);
  for (std::size_t s = 0; s < stages; ++s) {
    const auto behind = std::ranges::upper_bound(stage_of_part, s);
    const auto end = static_cast<std::size_t>(behind - stage_of_part.begin());
    const std::size_t least = s == 0 ? 1 : ends[s - 1] + 1, most = parts - (stages - 1 - s);
    ends[s] = std::clamp(end, least, most);
  }
  ends.back() = parts;
  return ends;
}

/// The value that most stages have; in a tie the larger one. Only values that differ from `before` count, if
/// any do: stages of `before` are equal, and a change of one stage is made in all.
template <class Get>
auto most_common(const Plan& plan, const Plan* before, const Get& get) {
  std::map<decltype(get(plan.stages.front())), std::size_t> count;
  for (const Stage& stage : plan.stages) ++count[get(stage)];
  if (before && count.size() > 1) count.erase(get(before->stages.front()));
  auto best = count.begin();
  for (auto it = count.begin(); it != count.end(); ++it)
    if (it->second >= best->second) best = it;
  return best->first;
}

/// The largest micro-batch of a replica, up to the usual one, that divides the mini-batch.
std::int64_t fitting_micro_batch(const Plan& plan, std::int64_t usual, std::int64_t replicas) {
  std::int64_t size = std::max<std::int64_t>(1, usual);
  while (size > 1 && plan.training.mini_batch % (size * replicas) != 0) --size;
  return size;
}

/// Returns true if the framework has a word for the recomputation: whole stages, and parts that `can` lacks, have none.
bool has_word(const Recomputation& how, const Abilities& can) {
  using enum Recomputation::SegmentScope;
  if (how.of == core) return can.recompute_core;
  return how.of != stage && !(how.of == layers && how.first > 0 && !can.recompute_first);
}

/// Recomputation of the first stage with layers that differs from that of `before`.
Recomputation changed_recomputation(const Plan& plan, const Plan& before, const Abilities& can) {
  Recomputation usual;
  for (const Stage& stage : before.stages)
    if (stage.recompute) usual = stage.recompute;
  std::optional<Recomputation> changed;
  for (const Stage& stage : plan.stages)
    if (stage.recompute != usual && (stage.recompute || !changed) && has_word(stage.recompute, can))
      changed = stage.recompute;
  // A stage without layers has nothing to compute again: a difference only there is no change.
  const bool some = std::ranges::any_of(plan.stages, [](const Stage& s) { return bool(s.recompute); });
  if (changed && !*changed && some && before.stages.size() == plan.stages.size()) {
    for (std::size_t s = 0; s < plan.stages.size(); ++s)
      if (!plan.stages[s].recompute && before.stages[s].recompute) return {};
    return usual;
  }
  return changed.value_or(usual);
}

Recomputation recomputation_of(const Plan& plan, const Abilities& can) {
  const Recomputation first = plan.stages.front().recompute;
  const bool same = std::ranges::all_of(plan.stages, [&](const Stage& s) { return s.recompute == first; });
  if (std::ranges::none_of(plan.stages, [](const Stage& s) { return bool(s.recompute); })) return {};
  const bool core = first.of == Recomputation::SegmentScope::core, some = first.first > 0;
  if (same && core && can.recompute_core) return first;
  if (same && some && can.recompute_first) return first;
  return plan::kRecomputeLayers;
}

int zero_of(const Plan& plan, const Plan* before, const Abilities& can) {
  int most = 0;
  for (const Stage& stage : plan.stages) most = std::max(most, stage.zero);
  if (before) most = most_common(plan, before, [](const Stage& s) { return s.zero; });
  for (const int each : can.zero)
    if (each >= most) return each;
  return can.zero.back();
}

struct CommonDegrees {
  std::size_t ranks;
  std::int64_t tensor, context, data, expert = 1;
  bool whole_experts = false;
  std::int64_t zero_over = 0;  ///< devices that share state; 0: all with equal weights
};

std::optional<CommonDegrees> degrees_of(const graph::OpGraph& graph, const Plan& plan, const Plan* before,
                                        const Abilities& can) {
  const bool context = !can.context_by_flash || has_flash_alone(graph);  // tokens of a sample may be divided
  const auto ranks = plan::rank_of_stage(plan);
  CommonDegrees out{static_cast<std::size_t>(1 + *std::ranges::max_element(ranks)), 1, 1, 1};
  if (!can.pipeline) out.ranks = 1;
  if (plan.stages.size() % out.ranks != 0) return {};
  if (can.tensor_parallel)
    out.tensor = degree_of_whole_heads(
        graph, can, most_common(plan, before, [](const Stage& s) { return s.tensor_parallel; }));
  if (context && std::ranges::count(can.context, plan.stages.front().context_exchange) > 0)
    out.context = most_common(plan, before, [](const Stage& s) { return s.context_parallel; });
  std::size_t devices = 0;  // of all ranks; stages of one rank share theirs
  for (const Stage& stage : plan.stages)
    for (const auto device : stage.devices) devices = std::max(devices, device.index() + 1);
  const auto group = out.ranks * static_cast<std::size_t>(out.tensor * out.context);
  if (devices % group != 0) return {};
  out.data = static_cast<std::int64_t>(devices / group);
  if (can.expert_parallel)
    out.expert = most_common(plan, before, [](const Stage& s) { return s.expert_parallel; });
  out.whole_experts = can.expert_parallel && can.sequence_parallel && out.tensor > 1 &&
                      most_common(plan, before, [](const Stage& s) { return s.whole_experts; });
  if (out.data * out.context * (out.whole_experts ? out.tensor : 1) % out.expert != 0) return {};
  const std::int64_t over = most_common(plan, before, [](const Stage&s) { return s.zero_over; }),
                     alike = out.data * out.context;
  if (can.hybrid && over > 0 && over < alike && alike % over == 0 && over % out.context == 0)
    out.zero_over = over;
  return plan.training.mini_batch % out.data == 0 ? std::optional(out) : std::nullopt;
}

/// In the loop that interleaving takes: stage s on rank s modulo ranks.
void deal_devices(Plan& plan, const CommonDegrees& degrees) {
  const auto size = static_cast<std::size_t>(degrees.tensor * degrees.context * degrees.data);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].devices.clear();
    for (std::size_t i = 0; i < size; ++i) plan.stages[s].devices.emplace_back(s % degrees.ranks * size + i);
    plan.stages[s].tensor_parallel = static_cast<int>(degrees.tensor);
    plan.stages[s].context_parallel = static_cast<int>(degrees.context);
    plan.stages[s].context_exchange = plan.stages.front().context_exchange;
    plan.stages[s].expert_parallel = static_cast<int>(degrees.expert);
    plan.stages[s].whole_experts = degrees.whole_experts;
    plan.stages[s].zero_over = static_cast<int>(degrees.zero_over);
  }
}

void deal_operators(Plan& plan, const plan::LayerRow& row, const std::vector<std::size_t>& ends) {
  for (Stage& stage : plan.stages) stage.operators.clear();
  for (std::size_t v = 0; v < row.part_of.size(); ++v) {
    const auto at = std::ranges::upper_bound(ends, static_cast<std::size_t>(row.part_of[v]));
    plan.stages[static_cast<std::size_t>(at - ends.begin())].operators.emplace_back(v);
  }
}

/// The plan's own where it may be, else the first that runs as many stages per rank.
std::string schedule_of(const Plan& plan, const Abilities& can, bool chunked) {
  const bool single = plan.schedule == "1f1b" || plan.schedule == "gpipe",
             interleaved = plan.schedule.starts_with("interleaved");
  const bool suits = chunked ? !single : !interleaved;
  if (suits && std::ranges::count(can.schedules, plan.schedule) > 0) return plan.schedule;
  return chunked ? "interleaved_1f1b" : "1f1b";
}

}  // namespace

std::optional<Plan> mended(const graph::OpGraph& graph, const Plan& plan, const Abilities& can) {
  const auto read = plan::layer_row(graph);
  const auto* row = std::get_if<plan::LayerRow>(&read);
  return row ? mended(graph, *row, plan, nullptr, can) : std::nullopt;
}

std::optional<Plan> mended(const graph::OpGraph& graph, const plan::LayerRow& row, const Plan& plan,
                           const Plan* before, const Abilities& can) {
  const auto whole = [](const Stage& s) { return !s.devices.empty() && s.replicas() > 0; };
  if (plan.stages.empty() || !std::ranges::all_of(plan.stages, whole) || plan::has_colocated(plan)) return {};
  const auto degrees = degrees_of(graph, plan, before, can);
  if (!degrees) return {};
  const bool merged = plan.stages.size() > 1 && degrees->ranks == 1 && !can.chunks_without_pipeline;
  // A whole model on every device: shard as much as there is, for a pipeline kept weights apart.
  const bool without_pipeline = merged && !can.pipeline;
  const std::size_t stages = merged ? 1 : plan.stages.size();
  if (stages > static_cast<std::size_t>(row.parts())) return {};
  Plan out = plan;
  out.stages.resize(stages);
  deal_operators(out, row, rounded_ends(stages_by_work(graph, plan, row), stages));
  if (std::ranges::any_of(out.stages, [](const Stage& s) { return s.operators.empty(); })) return {};
  deal_devices(out, *degrees);
  const std::int64_t usual = most_common(plan, before,
                                         [](const Stage&s) { return s.micro_batch / s.replicas(); }),
                     micro_batch = fitting_micro_batch(plan, usual, degrees->data);
  const auto divided = [](const Stage& s) { return s.sequence_parallel; };
  const bool wanted = before && before->stages.front().tensor_parallel > 1
                          ? most_common(plan, before, divided)
                          : std::ranges::any_of(plan.stages, divided),
             must = degrees->whole_experts || (can.experts_divide_tokens && has_experts(graph));
  const bool sequence = can.sequence_parallel && degrees->tensor > 1 && (wanted || must);
  const Recomputation recompute =  // of stages that have layers
      before ? changed_recomputation(plan, *before, can) : recomputation_of(plan, can);
  for (Stage& stage : out.stages) {
    stage.micro_batch = micro_batch * degrees->data;
    stage.k = 1;
    stage.in_flight = 0;
    stage.after.clear();
    stage.partition.clear();
    stage.shares.clear();
    stage.recompute = plan::applies(graph, stage.operators, recompute) ? recompute : Recomputation{};
    stage.zero = !stage.has_copies() ? 0 : without_pipeline ? can.zero.back() : zero_of(plan, before, can);
    stage.sequence_parallel = sequence;
  }
  out.training.compression = {};
  if (degrees->data * degrees->context == 1) out.training.bucket = core::Bytes(0);  // only of replicas
  if (std::ranges::count(can.precisions, precision_of(graph, plan)) == 0 && graph.element_bytes() == 2 &&
      graph.products() == graph::ProductFormat::stored)
    out.training.precision = plan::mixed_precision("mixed_bf16");
  out.schedule = merged ? "1f1b" : schedule_of(plan, can, stages > degrees->ranks);
  out.planner = "nearest";
  return out;
}

}  // namespace penstock::frameworks
