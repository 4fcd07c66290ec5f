// Megatron-LM's arguments.

#include <fmt/format.h>

#include <algorithm>

#include "penstock/frameworks/megatron_layout.hpp"
#include "writers.hpp"

namespace penstock::frameworks {
namespace {

using Of = plan::Recomputation::Of;

/// Lines of a bash array.
class Arguments {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    text_ += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  std::string text() { return std::move(text_); }

 private:
  std::string text_;
};

using Named = std::map<std::string, std::string>;

/// Norms, positions and feed-forwards of all decoders but GPT's.
void add_rotary(Arguments& out, Named& p) {
  out.add("--max-position-embeddings {}", p["sequence"]);
  out.add("--position-embedding-type rope\n--normalization RMSNorm\n--swiglu\n--disable-bias-linear");
}

void add_grouped_attention(Arguments& out, Named& p) {
  if (p["kv_heads"] != p["heads"]) out.add("--group-query-attention\n--num-query-groups {}", p["kv_heads"]);
  if (p["head_width"] != "0") out.add("--kv-channels {}", p["head_width"]);
  if (p["qkv_bias"] == "yes") out.add("--add-qkv-bias");
  if (p["qk_norm"] != "no") out.add("--qk-layernorm");
}

void add_rotary_decoder(Arguments& out, Named& p) {
  out.add("--ffn-hidden-size {}", p["feed_forward"]);
  add_grouped_attention(out, p);
  add_rotary(out, p);
}

/// All experts of a device run as one grouped product.
void add_experts(Arguments& out, Named& p) {
  out.add("--num-experts {}\n--moe-router-topk {}\n--moe-ffn-hidden-size {}", p["experts"], p["chosen"],
          p["expert_width"]);
  out.add("--moe-grouped-gemm\n--moe-token-dispatcher-type alltoall");
  if (p["shared_width"] != "0") out.add("--moe-shared-expert-intermediate-size {}", p["shared_width"]);
}

void add_mixtral(Arguments& out, Named& p) {
  out.add("--ffn-hidden-size {}", p["expert_width"]);
  add_grouped_attention(out, p);
  add_rotary(out, p);
  add_experts(out, p);
  if (p["shared_gate"] == "yes") out.add("--moe-shared-expert-gate");
}

void add_deepseek(Arguments& out, Named& p) {
  const std::int64_t dense = std::stoll(p["dense_layers"]), layers = std::stoll(p["layers"]);
  out.add("--ffn-hidden-size {}\n--multi-latent-attention\n--qk-layernorm", p["feed_forward"]);
  if (p["query_rank"] != "0") out.add("--q-lora-rank {}", p["query_rank"]);
  out.add("--kv-lora-rank {}\n--qk-head-dim {}\n--qk-pos-emb-head-dim {}\n--v-head-dim {}", p["key_rank"],
          p["head_width"], p["rotary_width"], p["value_width"]);
  add_rotary(out, p);
  add_experts(out, p);
  out.add("--moe-router-score-function {}", p["scores"]);
  if (dense > 0) out.add("--moe-layer-freq \"([0]*{}+[1]*{})\"", dense, layers - dense);
}

void add_learned_decoder(Arguments& out, Named& p) {
  if (p["feed_forward"] != "0") out.add("--ffn-hidden-size {}", p["feed_forward"]);
  out.add("--max-position-embeddings {}", p["positions"] == "0" ? p["sequence"] : p["positions"]);
  out.add("--position-embedding-type learned_absolute");
}

/// Of the families that pretrain_gpt.py builds; of the others its user knows better.
void add_model(Arguments& out, const Handover& handover) {
  auto p = all_parameters(handover.plan.model);
  const std::map<std::string, void (*)(Arguments&, Named&)> families = {{"llama", add_rotary_decoder},
                                                                        {"mixtral", add_mixtral},
                                                                        {"deepseek_v3", add_deepseek},
                                                                        {"gpt", add_learned_decoder}};
  const auto family = families.find(handover.plan.model.name);
  if (family == families.end()) {
    out.add("# The model's own arguments are left to you: {} is none that is known here",
            handover.graph.name());
    out.add("--num-layers {}", handover.layers.row.layers);
    return;
  }
  out.add("--num-layers {}\n--hidden-size {}\n--num-attention-heads {}", p["layers"], p["hidden"],
          p["heads"]);
  family->second(out, p);
  out.add("--seq-length {}\n--vocab-size {}\n--make-vocab-size-divisible-by 1", p["sequence"],
          p["vocabulary"]);
  if (p["tied_head"] == "no") out.add("--untie-embeddings-and-output-weights");
  out.add("--attention-backend {}",
          p["attention"] == "flash" || p["attention"].empty() ? "flash" : "unfused");
}

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

/// The least that tells the split: nothing where it is even, the layers of the first and last stage where the
/// others are even, a layout otherwise.
void add_split(Arguments& out, const LayerPlan& layers) {
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

/// As its --cp-comm-type says.
std::string_view megatron_name(plan::ContextExchange exchange) {
  constexpr std::string_view kNames[] = {"p2p", "allgather", "a2a"};
  return kNames[static_cast<std::size_t>(exchange)];
}

void add_parallelism(Arguments& out, const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  out.add("--tensor-model-parallel-size {}\n--pipeline-model-parallel-size {}", layers.tensor_parallel,
          layers.ranks);
  if (layers.ranks > 1 || layers.chunks > 1) add_split(out, layers);
  if (layers.expert_parallel > 1) out.add("--expert-model-parallel-size {}", layers.expert_parallel);
  if (layers.sequence_parallel) out.add("--sequence-parallel");
  if (layers.context_parallel > 1)
    out.add("--context-parallel-size {}\n--cp-comm-type {}", layers.context_parallel,
            megatron_name(layers.context_exchange));
  out.add("--micro-batch-size {}\n--global-batch-size {}", layers.micro_batch,
          handover.plan.training.mini_batch);
}

void add_recomputation(Arguments& out, const plan::Recomputation& how) {
  if (how.of == Of::core) out.add("--recompute-granularity selective");
  if (how.of != Of::layers) return;
  out.add("--recompute-granularity full");
  if (how.first > 0)
    out.add("--recompute-method block\n--recompute-num-layers {}", how.first);
  else
    out.add("--recompute-method uniform\n--recompute-num-layers 1");
}

void add_training(Arguments& out, const Handover& handover) {
  const plan::Training& training = handover.plan.training;
  const auto precision = precision_of(handover.graph, handover.plan);
  if (precision != "fp32") out.add("--{}", precision == "mixed_bf16" ? "bf16" : "fp16");
  out.add("--optimizer {}", training.optimizer == plan::Optimizer::adam ? "adam" : "sgd");
  if (training.optimizer != plan::Optimizer::adam)
    out.add("--sgd-momentum {}", training.optimizer == plan::Optimizer::momentum ? "0.9" : "0");
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
  Arguments out;
  const LayerPlan& layers = handover.layers;
  out.add("# Arguments for Megatron-LM's pretrain_gpt.py, on {} processes", layers.devices());
  add_model(out, handover);
  add_parallelism(out, handover);
  add_recomputation(out, layers.recompute);
  add_training(out, handover);
  return out.text();
}

}  // namespace penstock::frameworks
