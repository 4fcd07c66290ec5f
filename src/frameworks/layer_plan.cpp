#include "penstock/frameworks/layer_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "penstock/layout/infer.hpp"
#include "penstock/plan/colocated.hpp"

namespace penstock::frameworks {
namespace {

using core::OpId;
using plan::Plan;
using plan::Stage;

class Reader {
 public:
  Reader(const graph::OpGraph& graph, const Plan& plan, plan::LayerRow row) : graph_(graph), plan_(plan) {
    out_.row = std::move(row);
    out_.rank_of_stage = plan::rank_of_stage(plan);
  }

  LayerReading read() {
    if (plan::has_colocated(plan_)) {
      refuse("is told nothing of colocated stages here: the plan has some");
      return {{}, std::move(refusals_)};
    }
    read_cuts();
    read_ranks();
    read_degrees();
    read_devices();
    read_training();
    LayerReading reading{{}, std::move(refusals_)};
    if (reading.refusals.empty()) reading.plan = std::move(out_);
    return reading;
  }

 private:
  template <class... Args>
  void refuse(fmt::format_string<Args...> text, Args&&... args) {
    refusals_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  /// Refuses the first operator of a part that is not in `stage`, where some of the part's are.
  void read_cuts() {
    std::vector<std::size_t> stage_of(graph_.size());
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      for (const OpId id : plan_.stages[s].operators) stage_of[id.index()] = s;
    std::vector<std::optional<std::size_t>> of_part(static_cast<std::size_t>(out_.row.parts()));
    std::set<std::int32_t> told;
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      const std::int32_t part = out_.row.part_of[v];
      auto& stage = of_part[static_cast<std::size_t>(part)];
      if (!stage) stage = stage_of[v];
      if (*stage != stage_of[v] && told.insert(part).second)
        refuse("cannot cut inside {}: {} is in stage {}, {} in stage {}", part_name(part), first_of(part),
               *stage, graph_.op(OpId(v)).name, stage_of[v]);
    }
    if (!refusals_.empty()) return;
    out_.ends.assign(plan_.stages.size(), 0);
    std::size_t last = 0;
    for (std::size_t p = 0; p < of_part.size(); ++p) {
      if (!of_part[p]) continue;  // a model without head
      if (*of_part[p] < last || *of_part[p] > last + 1)
        refuse("runs stages in a row, in the model's order: {} is in stage {} behind stage {}",
               part_name(static_cast<std::int32_t>(p)), *of_part[p], last);
      last = *of_part[p];
      out_.ends[last] = static_cast<std::int32_t>(p) + 1;
    }
    out_.ends.back() = out_.row.parts();
  }

  std::string part_name(std::int32_t part) const {
    if (part == 0) return "the embedding";
    if (part == out_.row.head()) return "the head";
    return fmt::format("layer {}", part - 1);
  }

  const std::string& first_of(std::int32_t part) const {
    const auto found = std::ranges::find(out_.row.part_of, part);
    return graph_.op(OpId(static_cast<std::size_t>(found - out_.row.part_of.begin()))).name;
  }

  void read_ranks() {
    const auto& ranks = out_.rank_of_stage;
    out_.ranks = 1 + *std::ranges::max_element(ranks);
    const auto stages = static_cast<std::int64_t>(ranks.size());
    out_.chunks = stages / out_.ranks;
    for (std::int32_t r = 0; r < out_.ranks; ++r)
      if (const auto count = std::ranges::count(ranks, r); count != out_.chunks)
        return refuse("gives every rank as many stages: {} stages on {} ranks, of which rank {} has {}",
                      stages, out_.ranks, r, count);
  }

  /// All stages have the first one's value.
  template <class Get>
  void demand_same(const char* what, const Get& get) {
    const auto first = get(plan_.stages.front());
    for (std::size_t s = 1; s < plan_.stages.size(); ++s)
      if (const auto other = get(plan_.stages[s]); other != first)
        return refuse("has one {} for all stages: {} in stage 0, {} in stage {}", what, first, other, s);
  }

  void read_degrees() {
    demand_same("tensor-parallel degree", [](const Stage& s) { return s.tensor_parallel; });
    demand_same("context-parallel degree", [](const Stage& s) { return s.context_parallel; });
    demand_same("exchange of keys and values", [](const Stage& s) { return plan::name(s.context_exchange); });
    demand_same("data-parallel degree", [](const Stage& s) { return s.replicas(); });
    demand_same("expert-parallel degree", [](const Stage& s) { return s.expert_parallel; });
    demand_same("division of single experts", [](const Stage& s) { return s.whole_experts; });
    demand_same("micro-batch", [](const Stage& s) { return s.micro_batch; });
    demand_same("ZeRO stage", [](const Stage& s) { return s.zero; });
    demand_same("number of devices that ZeRO is over", [](const Stage& s) { return s.zero_over; });
    demand_same("sequence parallelism", [](const Stage& s) { return s.sequence_parallel; });
    const Stage& first = plan_.stages.front();
    out_.tensor_parallel = first.tensor_parallel;
    out_.context_parallel = first.context_parallel;
    out_.context_exchange = first.context_exchange;
    out_.data_parallel = first.replicas();
    out_.expert_parallel = first.expert_parallel;
    out_.whole_experts = first.whole_experts;
    out_.sequence_parallel = first.sequence_parallel;
    out_.zero = first.zero;
    out_.zero_over = first.zero_over;
    read_recomputation();
    out_.micro_batch = first.micro_batch / first.replicas();
    if (first.micro_batch % first.replicas() != 0)
      refuse("gives every replica as many samples: {} among {}", first.micro_batch, first.replicas());
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) read_stage(plan_.stages[s], s);
  }

  /// Recomputation of the stages that have layers; the others have nothing that is computed again.
  void read_recomputation() {
    std::optional<std::size_t> first;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      if (!out_.ends.empty() && out_.layers(s) == 0) continue;  // no ends: a stage begins inside a part
      const plan::Recomputation& again = plan_.stages[s].recompute;
      if (!first) out_.recompute = plan_.stages[*(first = s)].recompute;
      if (again != out_.recompute)
        return refuse("has one recomputation for all stages: {} in stage {}, {} in stage {}",
                      plan::written(out_.recompute), *first, plan::written(again), s);
    }
  }

  void read_stage(const Stage& stage, std::size_t s) {
    if (stage.k != 1) refuse("has no kFkB: stage {} has k = {}", s, stage.k);
    const std::set<std::int64_t> shares(stage.shares.begin(), stage.shares.end());
    if (shares.size() > 1) refuse("gives the devices of a group equal shares: those of stage {} differ", s);
    if (stage.partition.empty() || stage.tensor_parallel == 1) return;
    Stage bare = stage;
    bare.partition.clear();
    const auto rule = layout::infer(graph_, bare).partition, mine = layout::infer(graph_, stage).partition;
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (mine[i] != rule[i])
        return refuse("divides operators by one rule: {} is {} where the plan has {}",
                      graph_.op(stage.operators[i]).name, plan::name(rule[i]), plan::name(mine[i]));
  }

  /// Ranks follow each other, then replicas, their context groups, then the devices of a tensor-parallel
  /// group.
  void read_devices() {
    const auto size = static_cast<std::size_t>(out_.devices() / out_.ranks);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      for (std::size_t i = 0; i < plan_.stages[s].devices.size(); ++i) {
        const std::size_t usual = static_cast<std::size_t>(out_.rank_of_stage[s]) * size + i;
        if (plan_.stages[s].devices[i].index() == usual) continue;
        return refuse("gives rank {} the devices from {} on: stage {} of the plan has device {}",
                      out_.rank_of_stage[s], static_cast<std::size_t>(out_.rank_of_stage[s]) * size, s,
                      plan_.stages[s].devices[i].index());
      }
  }

  void read_training() {
    if (plan::asynchronous(plan_))
      refuse("waits for all passes of an iteration: {} does not", plan_.schedule);
    const auto& sent = plan_.training.compression;
    if (sent.gradients != 1 || sent.activations != 1)
      refuse("sends gradients and activations as they are: the plan compresses them");
  }

  const graph::OpGraph& graph_;
  const Plan& plan_;
  LayerPlan out_;
  std::vector<std::string> refusals_;
};

}  // namespace

std::int64_t LayerPlan::layers(std::size_t stage) const {
  return std::min(ends[stage], row.head()) - std::max(begin(stage), 1);
}

bool has_experts(const graph::OpGraph& graph) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).kind == graph::OpKind::experts) return true;
  return false;
}

bool has_flash_alone(const graph::OpGraph& graph) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (const auto* attention = std::get_if<graph::Attention>(&graph.op(OpId(v)).attributes))
      if (attention->core != graph::AttentionCore::flash) return false;
  return true;
}

namespace {

bool divides_heads(const graph::Attention& attention, const Abilities& can, std::int64_t degree) {
  const std::int64_t keys = attention.key_heads();
  return attention.heads % degree == 0 &&
         (keys % degree == 0 || (can.key_heads_shared && degree % keys == 0));
}

}  // namespace

std::int64_t degree_of_whole_heads(const graph::OpGraph& graph, const Abilities& can, std::int64_t degree) {
  const auto fits = [&](std::int64_t candidate) {
    return degree % candidate == 0 && std::ranges::all_of(graph.operators(), [&](const graph::Operator& op) {
             const auto* attention = std::get_if<graph::Attention>(&op.attributes);
             return attention == nullptr || divides_heads(*attention, can, candidate);
           });
  };
  std::int64_t out = degree;
  while (out > 1 && !fits(out)) --out;
  return out;
}

std::string_view precision_of(const graph::OpGraph& graph, const Plan& plan) {
  if (plan.training.precision) return plan::name(*plan.training.precision);
  return graph.element_bytes() == plan::bytes(cluster::Precision::fp32) ? "fp32" : "bf16";
}

LayerReading read_layers(const graph::OpGraph& graph, const Plan& plan) {
  auto row = plan::layer_row(graph);
  if (const auto* why = std::get_if<std::string>(&row))
    return {{}, {fmt::format("trains rows of layers: {} is none, {}", graph.name(), *why)}};
  return Reader(graph, plan, std::get<plan::LayerRow>(std::move(row))).read();
}

LayerReading read_layers(const graph::OpGraph& graph, const plan::LayerRow& row, const Plan& plan) {
  return Reader(graph, plan, row).read();
}

}  // namespace penstock::frameworks
