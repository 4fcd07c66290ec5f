// Megatron-LM's arguments.

#include <algorithm>

#include "megatron_lines.hpp"
#include "megatron_recipes.hpp"
#include "penstock/frameworks/megatron_layout.hpp"
#include "penstock/schedule/interleaved_group.hpp"

namespace penstock::frameworks {
namespace {

using SegmentScope = plan::Recomputation::SegmentScope;

std::vector<std::int64_t> layer_counts(const LayerPlan& layers) {
  std::vector<std::int64_t> out;
  for (std::size_t s = 0; s < layers.ends.size(); ++s) out.push_back(layers.layers(s));
  return out;
}

bool usual_ends(const LayerPlan& layers) {
  return layers.has_embedding(0) && layers.layers(0) > 0 && layers.layers(layers.ends.size() - 1) > 0;
}

std::string layout_of(const LayerPlan& layers) {
  std::vector<StageLayers> stages;
  for (std::size_t s = 0; s < layers.ends.size(); ++s)
    stages.push_back({layers.has_embedding(s), layers.layers(s), 0, layers.has_head(s)});
  return to_layout(stages);
}

/// The fewest arguments that give the split: nothing where it is even, the layers of the first and last stage
/// where the others are even, a layout otherwise.
void add_split(MegatronLines& out, const LayerPlan& layers) {
  const auto counts = layer_counts(layers);
  const bool ends = usual_ends(layers);
  const auto all_same = [&](std::size_t from, std::size_t to) {
    return std::all_of(counts.begin() + static_cast<std::ptrdiff_t>(from),
                       counts.begin() + static_cast<std::ptrdiff_t>(to),
                       [&](std::int64_t n) { return n == counts[from]; });
  };
  if (ends && all_same(0, counts.size())) {
    if (layers.chunks > 1) out.add("--num-virtual-stages-per-pipeline-rank {}", layers.chunks);
    return;
  }
  const bool middle = counts.size() > 2 && all_same(1, counts.size() - 1);
  if (!ends || layers.chunks > 1 || !(middle || counts.size() == 2))
    return out.add("--pipeline-model-parallel-layout \"{}\"", layout_of(layers));
  out.add("--decoder-first-pipeline-num-layers {}\n--decoder-last-pipeline-num-layers {}", counts.front(),
          counts.back());
}

/// Name in Transformer Engine. The help of --cp-comm-type has "allgather", which Transformer Engine refuses.
std::string_view megatron_name(plan::ContextExchange exchange) {
  constexpr std::string_view kNames[] = {"p2p", "all_gather", "a2a"};
  return kNames[static_cast<std::size_t>(exchange)];
}

void add_parallelism(MegatronLines& out, const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  out.add("--tensor-model-parallel-size {}\n--pipeline-model-parallel-size {}", layers.tensor_parallel,
          layers.ranks);
  if (layers.ranks > 1 || layers.chunks > 1) add_split(out, layers);
  if (layers.expert_parallel > 1) out.add("--expert-model-parallel-size {}", layers.expert_parallel);
  if (layers.whole_experts) out.add("--expert-tensor-parallel-size 1");
  if (layers.sequence_parallel) out.add("--sequence-parallel");
  if (layers.context_parallel > 1)
    out.add("--context-parallel-size {}\n--cp-comm-type {}", layers.context_parallel,
            megatron_name(layers.context_exchange));
  out.add("--micro-batch-size {}\n--global-batch-size {}", layers.micro_batch,
          handover.plan.training.mini_batch);
  // Megatron-LM's default group is as large as the pipeline.
  const std::int64_t group = schedule::interleaved_group(layers.ranks, layers.micro_batches(handover.plan));
  if (layers.chunks > 1 && group != layers.ranks)
    out.add("--microbatch-group-size-per-virtual-pipeline-stage {}", group);
}

void add_recomputation(MegatronLines& out, const plan::Recomputation& how) {
  if (how.of == SegmentScope::core) out.add("--recompute-granularity selective");
  if (how.of != SegmentScope::layers) return;
  out.add("--recompute-granularity full");
  if (how.first > 0)
    out.add("--recompute-method block\n--recompute-num-layers {}", how.first);
  else
    out.add("--recompute-method uniform\n--recompute-num-layers 1");
}

/// Recipe of Transformer Engine.
void add_products(MegatronLines& out, graph::ProductFormat products) {
  if (products == graph::ProductFormat::stored) return;
  const bool fp4 = products == graph::ProductFormat::nvfp4;
  out.add("--{} {}\n--{} {}", fp4 ? "fp4-format" : "fp8-format", fp4 ? "e2m1" : "hybrid",
          fp4 ? "fp4-recipe" : "fp8-recipe", megatron_recipe(products));
}

void add_training(MegatronLines& out, const Handover& handover) {
  const plan::Training& training = handover.plan.training;
  const auto precision = precision_of(handover.graph, handover.plan);
  if (precision != "fp32") out.add("--{}", precision == "mixed_fp16" ? "fp16" : "bf16");
  if (training.precision) add_products(out, training.precision->products);
  const bool descent =
      training.optimizer == plan::Optimizer::sgd || training.optimizer == plan::Optimizer::momentum;
  out.add("--optimizer {}", descent ? "sgd" : plan::name(training.optimizer));
  if (descent) out.add("--sgd-momentum {}", training.optimizer == plan::Optimizer::momentum ? "0.9" : "0");
  const LayerPlan& layers = handover.layers;
  if (layers.zero > 0) out.add("--use-distributed-optimizer");
  if (layers.zero > 0 && layers.zero_over > 0)
    out.add("--num-distributed-optimizer-instances {}",
            layers.data_parallel * layers.context_parallel / layers.zero_over);
  if (layers.data_parallel * layers.context_parallel == 1 || training.bucket.value() == 0) return;
  // Buckets count numbers, as they are sent.
  const auto number = static_cast<std::int64_t>(training.sent_per_weight() * handover.graph.element_bytes());
  out.add("--overlap-grad-reduce\n--ddp-bucket-size {}",
          std::max<std::int64_t>(1, training.bucket.value() / number));
}

}  // namespace

std::string to_megatron(const Handover& handover) {
  MegatronLines out;
  const LayerPlan& layers = handover.layers;
  add_megatron_model(out, handover);
  add_parallelism(out, handover);
  add_recomputation(out, layers.recompute);
  add_training(out, handover);
  return fmt::format(
      "# Arguments for Megatron-LM's pretrain_gpt.py, on {} processes\n"
      "# To add: data, tokenizer, learning rate, checkpoints\n{}{}",
      layers.devices(), comment_of_left_out("Megatron-LM has no argument for", out.left_out()), out.text());
}

}  // namespace penstock::frameworks
