#include "penstock/frameworks/framework.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/frameworks/from_megatron.hpp"
#include "penstock/frameworks/megatron_layout.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/schedule/schedule_csv.hpp"

using namespace penstock;
using namespace penstock::frameworks;
using core::DeviceId;
using core::OpId;

namespace {

/// A model, and plans of it whose stages end behind these parts of its row: 0 is the embedding, then come the
/// layers.
struct FrameworkCase {
  explicit FrameworkCase(std::string family, std::map<std::string, std::string> parameters)
      : model{std::move(family), std::move(parameters)}, graph(models::build(model.name, model.parameters)) {
    row = std::get<plan::LayerRow>(plan::layer_row(graph));
  }

  plan::Plan plan(const std::vector<std::int32_t>& last_parts, int ranks, int tensor = 1,
                  int data = 1) const {
    plan::Plan out;
    out.model = model;
    out.training = {64, plan::Optimizer::adam};
    out.training.precision =
        graph.element_bytes() == 2 ? std::optional(plan::mixed_precision("mixed_bf16")) : std::nullopt;
    out.schedule = static_cast<int>(last_parts.size()) > ranks ? "interleaved_1f1b" : "1f1b";
    std::int32_t from = 0;
    for (std::size_t s = 0; s < last_parts.size(); ++s) {
      plan::Stage& stage = out.stages.emplace_back();
      for (std::size_t v = 0; v < graph.size(); ++v)
        if (row.part_of[v] >= from && row.part_of[v] <= last_parts[s]) stage.operators.emplace_back(v);
      from = last_parts[s] + 1;
      for (int d = 0; d < tensor * data; ++d)
        stage.devices.emplace_back(s % static_cast<std::size_t>(ranks) *
                                       static_cast<std::size_t>(tensor * data) +
                                   static_cast<std::size_t>(d));
      stage.tensor_parallel = tensor;
      stage.micro_batch = data;
    }
    return out;
  }

  plan::ModelRef model;
  graph::OpGraph graph;
  plan::LayerRow row;
};

const FrameworkCase& llama8() {
  static const FrameworkCase out("llama", {{"layers", "8"},
                                           {"hidden", "64"},
                                           {"heads", "4"},
                                           {"kv_heads", "2"},
                                           {"feed_forward", "128"},
                                           {"vocabulary", "512"},
                                           {"sequence", "32"},
                                           {"element_bytes", "2"}});
  return out;
}

std::string to(const char* name, const FrameworkCase& of, const plan::Plan& plan,
               const std::string& csv = "") {
  const auto why = refusals(framework_named(name), of.graph, plan, !csv.empty());
  return why.empty() ? exported(framework_named(name), of.graph, plan, csv) : why.front();
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// For torchtitan before 0.3.
std::string older_titan(const FrameworkCase& of, const plan::Plan& plan, const std::string& csv = "") {
  const Framework& older = framework_named("torchtitan", "0.2");
  const auto why = refusals(older, of.graph, plan, !csv.empty());
  return why.empty() ? exported(older, of.graph, plan, csv) : why.front();
}
std::string older_titan(const plan::Plan& plan, const std::string& csv = "") {
  return older_titan(llama8(), plan, csv);
}

}  // namespace

TEST_CASE("a framework has its current release by default, and older ones by their version") {
  CHECK(framework_named("torchtitan").version == "0.3");
  CHECK(framework_named("torchtitan", "0.3").version == "0.3");
  const auto refusal = [](const char* name, const char* version) {
    try {
      framework_named(name, version);
    } catch (const core::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("taken");
  };
  CHECK(refusal("torchtitan", "0.1") == "torchtitan 0.1 is not known; known: 0.3, 0.2");
  CHECK(says(refusal("titan", ""), "unknown framework 'titan'"));
}

// torch 2.15's Schedule1F1B raises below as many micro-batches as stages; AutoModel 0.7's recipe for every
// schedule; Megatron-LM 0.19 when an interleaved pipeline starts.
TEST_CASE("fewer micro-batches than pipeline ranks go along as a file, or are refused") {
  auto plan = llama8().plan({2, 4, 6, 9}, 4);
  plan.training.mini_batch = 3;
  CHECK(to("pytorch", llama8(), plan) ==
        "PyTorch runs 1f1b with no fewer micro-batches than pipeline ranks: the plan has 3 on 4; hand its "
        "order over "
        "too (--csv FILE)");
  CHECK(says(to("pytorch", llama8(), plan, "order.csv"), "schedule_csv = \"order.csv\""));
  CHECK(says(to("torchtitan", llama8(), plan, "order.csv"), "pipeline_parallel_schedule_csv=\"order.csv\""));
  CHECK(to("automodel", llama8(), plan, "order.csv") ==
        "NeMo AutoModel runs no fewer micro-batches than pipeline ranks: the plan has 3 on 4");
  CHECK(says(to("megatron", llama8(), plan), "--global-batch-size 3\n"));
  CHECK(says(to("deepspeed", llama8(), plan), "\"gradient_accumulation_steps\": 3,"));
  plan.schedule = "gpipe";
  CHECK(says(to("pytorch", llama8(), plan), "schedule = \"GPipe\""));
  auto chunks = llama8().plan({1, 3, 4, 5, 6, 7, 8, 9}, 4);
  chunks.training.mini_batch = 3;
  CHECK(to("megatron", llama8(), chunks) ==
        "Megatron-LM runs interleaved_1f1b with no fewer micro-batches than pipeline ranks: the plan has 3 "
        "on 4");
  CHECK(says(to("pytorch", llama8(), chunks), "schedule = \"Interleaved1F1B\""));
}

TEST_CASE("interleaved groups that are not as large as the pipeline are stated to Megatron-LM") {
  const auto group = [](std::int64_t micro_batches) {
    auto plan = llama8().plan({1, 3, 4, 5, 6, 7, 8, 9}, 4);
    plan.training.mini_batch = micro_batches;
    const std::string text = to("megatron", llama8(), plan),
                      flag = "--microbatch-group-size-per-virtual-pipeline-stage ";
    const auto at = text.find(flag);
    return at == text.npos ? std::string("none")
                           : text.substr(at + flag.size(), text.find('\n', at) - at - flag.size());
  };
  CHECK(group(4) == "none");
  CHECK(group(16) == "none");
  CHECK(group(6) == "6");
  CHECK(group(10) == "5");
  CHECK(group(15) == "5");
}

TEST_CASE("stages in a V that have no name are refused for their places, with a file or without") {
  auto plan = llama8().plan({1, 2, 4, 9}, 2);
  std::swap(plan.stages[2].devices, plan.stages[3].devices);
  plan.schedule = "v_half";
  CHECK(to("torchtitan", llama8(), plan) ==
        "torchtitan has no name for the schedule v_half, and places stages of an order from a file in a "
        "loop, stage s on "
        "rank s modulo ranks: the plan does not");
  CHECK(to("torchtitan", llama8(), plan, "order.csv") == to("torchtitan", llama8(), plan));
  CHECK(says(to("pytorch", llama8(), plan, "order.csv"), "ranks_of_stages = [0, 1, 1, 0]"));
  plan.schedule = "zbv";
  CHECK(says(to("torchtitan", llama8(), plan), "\"ZBVZeroBubble\""));
  CHECK(says(to("automodel", llama8(), plan), "pp_schedule: ZBVZeroBubble\n"));
  plan.schedule = "dualpipev";
  CHECK(says(to("torchtitan", llama8(), plan), "\"DualPipeV\""));
  // AutoModel would run DualPipeV's order on stages in a loop.
  CHECK(says(to("automodel", llama8(), plan),
             "NeMo AutoModel has no name for the schedule dualpipev, and places"));
}

// AutoModel 0.7: without mp_policy every plan computes in bf16, without reshard_after_forward a pipeline's
// weights stay.
TEST_CASE("AutoModel gets numbers and resharding") {
  auto plan = llama8().plan({4, 9}, 2, 1, 2);
  for (auto& stage : plan.stages) stage.zero = 3;
  const auto text = [&] { return to("automodel", llama8(), plan); };
  const std::string policy = "  mp_policy:\n    _target_: torch.distributed.fsdp.MixedPrecisionPolicy\n";
  CHECK(says(text(), "model:\n  torch_dtype: float32\n"));
  CHECK(says(text(), "  reshard_after_forward: true\n" + policy +
                         "    param_dtype: bfloat16\n    reduce_dtype: float32\n    output_dtype: null\n"
                         "    cast_forward_inputs: false\n"));
  for (auto& stage : plan.stages) stage.zero = 2;
  plan.training.precision = plan::mixed_precision("bf16");
  CHECK(says(text(), "  reshard_after_forward: false\n" + policy +
                         "    param_dtype: bfloat16\n    reduce_dtype: bfloat16\n"));
  CHECK(says(text(), "model:\n  torch_dtype: bfloat16\n"));
  const FrameworkCase fp32(
      "llama",
      {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"kv_heads", "4"}, {"element_bytes", "4"}});
  CHECK(says(to("automodel", fp32, fp32.plan({1, 3}, 2)),
             policy + "    param_dtype: float32\n    reduce_dtype: float32\n"));
}

// DeepSpeed 0.19: bf16 gradients of a pass stay beside the fp32 sums unless immediate_grad_update; ZeRO 1
// sums in bf16 unless grad_accum_dtype, which pipelines without ZeRO refuse.
TEST_CASE("DeepSpeed gets the list of gradients that it keeps") {
  auto plan = llama8().plan({4, 9}, 2, 1, 2);
  const auto text = [&] { return to("deepspeed", llama8(), plan); };
  CHECK(says(text(), "\"bf16\": {\"enabled\": true, \"immediate_grad_update\": true},\n  \"fp16\""));
  plan.training.precision = plan::mixed_precision("deepspeed_bf16");
  CHECK(says(text(), "\"bf16\": {\"enabled\": true, \"immediate_grad_update\": false},\n  \"fp16\""));
  for (auto& stage : plan.stages) stage.zero = 1;
  CHECK(says(text(),
             "\"immediate_grad_update\": false},\n  \"data_types\": {\"grad_accum_dtype\": \"fp32\"},\n"));
  plan.training.precision = plan::mixed_precision("mixed_fp16");
  CHECK(says(text(), "\"bf16\": {\"enabled\": false},\n  \"fp16\": {\"enabled\": true}\n"));
}

TEST_CASE("Megatron-LM gets the recipe of products in 8 or 4 bits, others refuse it") {
  const std::pair<const char*, const char*> recipes[] = {
      {"fp8_delayed", "--bf16\n--fp8-format hybrid\n--fp8-recipe delayed\n"},
      {"fp8_current", "--bf16\n--fp8-format hybrid\n--fp8-recipe tensorwise\n"},
      {"fp8_block", "--bf16\n--fp8-format hybrid\n--fp8-recipe blockwise\n"},
      {"mxfp8", "--bf16\n--fp8-format hybrid\n--fp8-recipe mxfp8\n"},
      {"nvfp4", "--bf16\n--fp4-format e2m1\n--fp4-recipe nvfp4\n"}};
  const auto wide = [](const char* products, const char* width) {
    return FrameworkCase("llama", {{"layers", "8"},
                                   {"hidden", "64"},
                                   {"heads", "4"},
                                   {"kv_heads", "2"},
                                   {"feed_forward", width},
                                   {"element_bytes", "2"},
                                   {"products", products}});
  };
  for (const auto& [products, arguments] : recipes) {
    const FrameworkCase model = wide(products, "128");
    auto plan = model.plan({4, 9}, 2);
    plan.training.precision = plan::mixed_precision(products);
    CHECK(says(to("megatron", model, plan), arguments));
    const std::string other = to("torchtitan", model, plan);
    CHECK(other.find(std::string("the plan in ") + products) != std::string::npos);
  }
  const FrameworkCase odd = wide("mxfp8", "144");
  auto plan = odd.plan({4, 9}, 2);
  plan.training.precision = plan::mixed_precision("mxfp8");
  CAPTURE(to("megatron", odd, plan));
  CHECK(to("megatron", odd, plan).find("where widths are multiples of 32") != std::string::npos);
}

TEST_CASE("Megatron-LM is given at least as many positions as a sample has tokens") {
  FrameworkCase longer("llama", {{"layers", "8"},
                                 {"hidden", "64"},
                                 {"heads", "4"},
                                 {"kv_heads", "2"},
                                 {"sequence", "32"},
                                 {"positions", "16"},
                                 {"element_bytes", "2"}});
  CHECK(says(to("megatron", longer, longer.plan({4, 9}, 2)), "--max-position-embeddings 32\n"));
}

TEST_CASE("a plan of even stages needs no layout") {
  auto plan = llama8().plan({2, 4, 6, 9}, 4, 2, 2);
  for (auto& stage : plan.stages) {
    stage.sequence_parallel = true;
    stage.zero = 1;
    stage.recompute = plan::kRecomputeCore;
  }
  // Buckets of 25 MiB hold 6,553,600 gradients of four bytes.
  CHECK(to("megatron", llama8(), plan) ==
        "# Arguments for Megatron-LM's pretrain_gpt.py, on 16 processes\n"
        "# To add: data, tokenizer, learning rate, checkpoints\n"
        "--num-layers 8\n--hidden-size 64\n--num-attention-heads 4\n--ffn-hidden-size 128\n"
        "--group-query-attention\n--num-query-groups 2\n--max-position-embeddings 32\n"
        "--position-embedding-type rope\n--rotary-base 500000\n--normalization RMSNorm\n--swiglu\n"
        "--disable-bias-linear\n--norm-epsilon 1e-05\n--init-method-std 0.02\n--attention-dropout 0\n"
        "--hidden-dropout 0\n"
        "--seq-length 32\n--vocab-size 512\n--make-vocab-size-divisible-by 1\n"
        "--untie-embeddings-and-output-weights\n--attention-backend flash\n"
        "--tensor-model-parallel-size 2\n--pipeline-model-parallel-size 4\n--sequence-parallel\n"
        "--micro-batch-size 1\n--global-batch-size 64\n--recompute-granularity selective\n--bf16\n"
        "--optimizer adam\n--use-distributed-optimizer\n--overlap-grad-reduce\n--ddp-bucket-size 6553600\n");
}

namespace {

/// Another value of a parameter; "" where one more graph would be needed.
std::string other_value(const std::string& name, const std::string& value) {
  if (name == "attention") return value == "flash" ? "plain" : "flash";
  if (name == "qk_norm") return "whole";
  if (name == "scores") return "softmax";
  if (name == "mask") return "none";
  if (name == "window") return "16";
  if (name == "activation") return "swiglu";
  if (name == "balance_over") return value == "batch" ? "sample" : "batch";
  if (name == "rope_scaling") return "longrope:factor=3";
  if (value == "yes" || value == "no") return value == "yes" ? "no" : "yes";
  if (name == "norm_epsilon" || name == "init_std") return "0.001";
  if (name == "router_groups") return "16";
  return value == "0" ? "0.25" : std::to_string(2 * std::stoll(value));
}

}  // namespace

TEST_CASE("every value of a model is in Megatron-LM's arguments, or among those that have none") {
  const std::map<std::string, std::string> small = {
      {"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "512"}, {"sequence", "32"}};
  for (const char* family : {"llama", "mixtral", "deepseek_v3", "gpt"}) {
    std::map<std::string, std::string> base = small;
    for (const auto& model : models::catalogue())
      if (model.name == family)
        for (const auto& parameter : model.parameters) base.emplace(parameter.name, parameter.default_value);
    const std::map<std::string, std::string> fitting = {{"kv_heads", "2"},
                                                        {"feed_forward", "128"},
                                                        {"experts", "8"},
                                                        {"chosen", "2"},
                                                        {"positions", "64"},
                                                        {"dense_layers", "1"},
                                                        {"query_rank", "24"},
                                                        {"key_rank", "16"},
                                                        {"head_width", "16"},
                                                        {"expert_width", "32"},
                                                        {"init_std", "0.02"},
                                                        {"router_groups", "4"},
                                                        {"router_groups_chosen", "1"},
                                                        {"router_scale", "2"},
                                                        {"balance_loss", "3"},
                                                        {"attention_dropout", "0"},
                                                        {"hidden_dropout", "0"},
                                                        {"router_jitter", "0"},
                                                        {"shared_width", "32"}};
    for (const auto& [key, value] : fitting)
      if (base.contains(key)) base[key] = value;
    base.erase("size");
    const auto text = [&](const std::map<std::string, std::string>& parameters) {
      const FrameworkCase one(family, parameters);
      return to("megatron", one, one.plan({1, one.row.parts() - 1}, 2));
    };
    const std::string usual = text(base);
    REQUIRE(usual.starts_with("# Arguments"));
    for (const auto& [key, value] : base) {
      // A loss is always there. The training decides the numbers; a module for one more token is no row. The
      // cost of dropout does not depend on how much of it there is. Plans with LoRA are refused.
      if (key == "loss" || key == "element_bytes" || key == "products" || key == "mtp" || key == "dropout" ||
          key == "lora")
        continue;
      CAPTURE(family);
      CAPTURE(key);
      auto changed = base;
      changed[key] = other_value(key, value);
      CHECK(text(changed) != usual);
    }
  }
}

TEST_CASE("no framework gets a plan with LoRA") {
  const FrameworkCase one("llama", {{"size", "llama3-8b"}, {"layers", "2"}, {"lora", "rank=8,targets=all"}});
  for (const frameworks::Framework& each : frameworks::catalogue()) {
    CAPTURE(each.name);
    const auto reasons = frameworks::refusals(each, one.graph, one.plan({1, one.row.parts() - 1}, 2), false);
    CHECK(
        std::ranges::any_of(reasons, [](const auto& why) { return why.find("LoRA") != std::string::npos; }));
  }
}

TEST_CASE("a comment above the arguments lists what Megatron-LM has no argument for") {
  const auto with = [](const std::string& scaling) {
    const FrameworkCase one("llama", {{"layers", "2"},
                                      {"hidden", "64"},
                                      {"heads", "4"},
                                      {"kv_heads", "2"},
                                      {"rope_scaling", scaling},
                                      {"rope_base", "1000000"}});
    return to("megatron", one, one.plan({1, 3}, 2));
  };
  CHECK(says(
      with("yarn:factor=4"),
      "on 2 processes\n# To add: data, tokenizer, learning rate, checkpoints\n# Megatron-LM has no argument for: rope_scaling yarn:factor=4\n--num-layers"));
  CHECK(says(with("llama3:factor=8:low_freq_factor=2"), "no argument for: rope_scaling llama3:factor=8:low"));
  CHECK(says(with("llama3:factor=32:low_freq_factor=1"), "--use-rope-scaling\n--rope-scaling-factor 32\n"));
  CHECK(says(with("linear:factor=2"), "--rotary-seq-len-interpolation-factor 2\n"));
  CHECK(says(with("none"), "--rotary-base 1000000\n"));
  CHECK_FALSE(says(with("none"), "no argument"));
}

TEST_CASE("a stage without layers has nothing to compute again, and does not differ by that") {
  auto plan = llama8().plan({0, 4, 8, 9}, 4);
  for (const std::size_t s : {1, 2}) plan.stages[s].recompute = plan::kRecomputeLayers;
  CHECK(says(to("megatron", llama8(), plan), "--pipeline-model-parallel-layout \"E|(t*4|)*2,L\""));
  CHECK(says(to("megatron", llama8(), plan), "--recompute-granularity full"));
  plan.stages[2].recompute = {};
  CHECK(to("megatron", llama8(), plan) ==
        "Megatron-LM has one recomputation for all stages: layers in stage 1, none in stage 2");
}

TEST_CASE("experts and their groups in Megatron-LM's words; other frameworks get none of them") {
  const FrameworkCase mixture("mixtral", {{"layers", "2"},
                                          {"hidden", "64"},
                                          {"heads", "4"},
                                          {"kv_heads", "2"},
                                          {"experts", "8"},
                                          {"chosen", "2"},
                                          {"expert_width", "32"}});
  auto plan = mixture.plan({1, 3}, 2, 1, 4);
  for (auto& stage : plan.stages) stage.expert_parallel = 4;
  const std::string told = to("megatron", mixture, plan);
  CHECK(says(told, "--num-experts 8\n--moe-router-topk 2\n--moe-ffn-hidden-size 32\n"));
  CHECK(says(told, "--expert-model-parallel-size 4\n"));
  CHECK(to("deepspeed", mixture, plan) == "DeepSpeed is told nothing of experts here: the plan has EP4");
  const FrameworkCase latent("deepseek_v3", {{"layers", "3"},
                                             {"dense_layers", "1"},
                                             {"hidden", "64"},
                                             {"heads", "4"},
                                             {"query_rank", "24"},
                                             {"key_rank", "16"},
                                             {"head_width", "8"},
                                             {"rotary_width", "4"},
                                             {"value_width", "8"},
                                             {"feed_forward", "96"},
                                             {"experts", "8"},
                                             {"chosen", "2"},
                                             {"expert_width", "32"},
                                             {"shared_width", "32"}});
  const std::string other = to("megatron", latent, latent.plan({2, 4}, 2));
  CHECK(says(other,
             "--multi-latent-attention\n--qk-layernorm\n--q-lora-rank 24\n--kv-lora-rank 16\n"
             "--qk-head-dim 8\n--qk-pos-emb-head-dim 4\n--v-head-dim 8\n"));
  CHECK(says(other,
             "--moe-shared-expert-intermediate-size 32\n--moe-router-topk-scaling-factor 2.5\n"
             "--moe-router-num-groups 8\n--moe-router-group-topk 4\n--moe-router-enable-expert-bias\n"
             "--moe-router-load-balancing-type seq_aux_loss\n--moe-aux-loss-coeff 0.001\n"
             "--moe-router-score-function sigmoid\n--moe-layer-freq \"([0]*1+[1]*2)\"\n"));
  CHECK(says(
      other,
      "--rope-type yarn\n--rotary-scaling-factor 40\n--mscale 1\n--mscale-all-dim 1\n--num-experts 8\n"));
  CHECK_FALSE(says(other, "of YaRN"));
  const FrameworkCase other_yarn("deepseek_v3",
                                 {{"layers", "2"},
                                  {"dense_layers", "1"},
                                  {"hidden", "64"},
                                  {"heads", "4"},
                                  {"experts", "8"},
                                  {"chosen", "2"},
                                  {"rope_scaling", "yarn:factor=32:original_max_position_embeddings=8192"}});
  CHECK(says(to("megatron", other_yarn, other_yarn.plan({1, 3}, 2)),
             "no argument for: original_max_position_embeddings 8192 of YaRN"));
}

TEST_CASE("the shortest words for a split: first and last stage, virtual stages, else a layout") {
  // Layers 1, 3, 3, 1.
  const std::string ends = to("megatron", llama8(), llama8().plan({1, 4, 7, 9}, 4));
  CHECK(says(ends, "--decoder-first-pipeline-num-layers 1\n--decoder-last-pipeline-num-layers 1\n"));
  CHECK_FALSE(says(ends, "layout"));
  const std::string two = to("megatron", llama8(), llama8().plan({5, 9}, 2));
  CHECK(says(two, "--decoder-first-pipeline-num-layers 5\n--decoder-last-pipeline-num-layers 3\n"));
  const std::string chunks = to("megatron", llama8(), llama8().plan({2, 4, 6, 9}, 2));
  CHECK(says(chunks, "--pipeline-model-parallel-size 2\n--num-virtual-stages-per-pipeline-rank 2\n"));
  const std::string uneven = to("megatron", llama8(), llama8().plan({1, 4, 6, 9}, 4));
  CHECK(says(uneven, "--pipeline-model-parallel-layout \"Et|t*3|tt|ttL\"\n"));
  const std::string alone = to("megatron", llama8(), llama8().plan({0, 4, 8, 9}, 4));
  CHECK(says(alone, "--pipeline-model-parallel-layout \"E|(t*4|)*2,L\"\n"));
  CHECK_FALSE(says(to("megatron", llama8(), llama8().plan({9}, 1)), "pipeline-model-parallel-layout"));
}

TEST_CASE("a layout that is read again has the plan's layers, for any cut") {
  core::Random random(3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<std::int32_t> cuts = {9};
    for (std::int32_t part = 0; part < 9; ++part)
      if (random.chance(0.4)) cuts.push_back(part);
    std::ranges::sort(cuts);
    const auto plan = llama8().plan(cuts, static_cast<int>(cuts.size()));
    const std::string text = to("megatron", llama8(), plan);
    const auto at = text.find("layout \"");
    if (at == text.npos) continue;
    const auto stages = parse_layout(text.substr(at + 8, text.find('"', at + 8) - at - 8));
    REQUIRE(stages.size() == cuts.size());
    for (std::size_t s = 0; s < stages.size(); ++s) {
      // Layers are parts 1 to 8.
      const std::int32_t from = s == 0 ? 1 : std::max(1, cuts[s - 1] + 1), to_part = std::min(8, cuts[s]);
      CHECK(stages[s].layers == std::max(0, to_part - from + 1));
    }
  }
}

TEST_CASE("a feature that a framework lacks is refused by its name") {
  const auto refused = [](const char* name, const plan::Plan& plan) { return to(name, llama8(), plan); };
  auto plan = llama8().plan({4, 9}, 2);
  // Two operators from the end of stage 0 to stage 1: layer 3 is cut.
  auto cut = plan;
  for (int i = 0; i < 2; ++i) {
    auto& last = cut.stages[0].operators;
    cut.stages[1].operators.insert(cut.stages[1].operators.begin(), last.back());
    last.pop_back();
  }
  CHECK(refused("megatron", cut) ==
        "Megatron-LM cannot cut inside layer 3: layer3.norm1 is in stage 0, layer3.down in stage 1");
  CHECK(says(refused("torchtitan", cut), "torchtitan cannot cut inside layer 3"));

  auto unequal = llama8().plan({4, 9}, 2, 2, 2);
  unequal.stages[1].tensor_parallel = 4;
  CHECK(refused("megatron", unequal) ==
        "Megatron-LM has one tensor-parallel degree for all stages: 2 in stage 0, 4 in stage 1");
  auto other = plan;
  other.stages[1].micro_batch = 2;
  CHECK(refused("megatron", other) ==
        "Megatron-LM has one micro-batch for all stages: 1 in stage 0, 2 in stage 1");
  other = plan;
  other.stages[1].recompute = plan::kRecomputeLayers;
  CHECK(refused("megatron", other) ==
        "Megatron-LM has one recomputation for all stages: none in stage 0, layers in stage 1");
  other = plan;
  other.stages[0].k = other.stages[1].k = 2;
  CHECK(refused("megatron", other) == "Megatron-LM has no kFkB: stage 0 has k = 2");
  other = plan;
  std::swap(other.stages[0].devices, other.stages[1].devices);
  CHECK(refused("megatron", other).starts_with("Megatron-LM gives rank 0 the devices from 0 on"));
  other = plan;
  other.schedule = "gpipe";
  CHECK(refused("megatron", other) == "Megatron-LM has the schedules 1f1b, interleaved_1f1b, not gpipe");
  other.schedule = "pipedream";
  CHECK(refused("megatron", other) == "Megatron-LM waits for all passes of an iteration: pipedream does not");
  other = plan;
  other.training.compression.gradients = 0.5;
  CHECK(says(refused("megatron", other), "sends gradients and activations as they are"));
  other = plan;
  other.training.precision = plan::mixed_precision("bf16");
  CHECK(
      refused("megatron", other) ==
      "Megatron-LM trains in fp32, mixed_bf16, mixed_fp16, fp8_delayed, fp8_current, fp8_block, mxfp8, nvfp4; the "
      "plan in bf16");

  auto shared = llama8().plan({4, 9}, 2, 2, 2);
  CHECK(refused("deepspeed", shared) ==
        "DeepSpeed does not divide operators in its pipelines: the plan has TP2");
  for (auto& stage : shared.stages) stage.zero = 2;
  CHECK(refused("megatron", shared) ==
        "Megatron-LM shares state of replicas in pipelines as ZeRO 0 or 1, not ZeRO 2");
  auto divided = llama8().plan({4, 9}, 2, 2, 1);
  for (const OpId id : divided.stages[1].operators)
    if (llama8().graph.op(id).name == "layer5.down") divided.stages[1].partition[id] = plan::Partition::whole;
  CHECK(says(refused("megatron", divided),
             "Megatron-LM divides operators by one rule: layer5.down is row where the plan has whole"));
}

TEST_CASE("branches are refused, and no plan is near") {
  const auto graph = models::build("mmt", {{"layers", "1"}});
  plan::Plan plan;
  plan.model = {"mmt", {{"layers", "1"}}};
  plan.stages.emplace_back();
  for (std::size_t v = 0; v < graph.size(); ++v) plan.stages[0].operators.emplace_back(v);
  plan.stages[0].devices = {DeviceId(0)};
  const auto& megatron = framework_named("megatron");
  CHECK(refusals(megatron, graph, plan, false) ==
        std::vector<std::string>{
            "Megatron-LM trains rows of layers: mmt is none, its layers are no single row, "
            "numbered from 0: branch0.layer0 comes behind branch0"});
  CHECK_FALSE(nearest(megatron, graph, plan));
}

TEST_CASE("colocated stages are refused, and no plan is near") {
  plan::Plan plan = llama8().plan({4, 9}, 2);
  plan::Stage whole = plan.stages[0];
  const auto of_first = [](OpId id) { return llama8().row.part_of[id.index()] == 0; };
  std::erase_if(whole.operators, [&](OpId id) { return !of_first(id); });
  std::erase_if(plan.stages[0].operators, of_first);
  whole.devices = {DeviceId(0), DeviceId(1)};
  const auto parts = plan::parts_of(whole, plan.stages);
  plan.stages.insert(plan.stages.begin(), parts.begin(), parts.end());
  const auto& megatron = framework_named("megatron");
  CHECK(refusals(megatron, llama8().graph, plan, false) ==
        std::vector<std::string>{"Megatron-LM is told nothing of colocated stages here: the plan has some"});
  CHECK_FALSE(nearest(megatron, llama8().graph, plan));
}

/// Two replicas of two context groups on each of two ranks.
plan::Plan by_tokens(int zero, std::int64_t over, plan::ContextExchange exchange) {
  auto plan = llama8().plan({4, 9}, 2, 1, 4);
  for (auto& stage : plan.stages) {
    stage.context_parallel = 2;
    stage.context_exchange = exchange;
    stage.zero = zero;
    stage.zero_over = over;
  }
  return plan;
}

TEST_CASE("context parallelism in each framework's words, or refused") {
  using Exchange = plan::ContextExchange;
  const auto megatron = to("megatron", llama8(), by_tokens(1, 2, Exchange::ulysses));
  CHECK(says(megatron, "on 8 processes\n"));
  CHECK(says(megatron, "--context-parallel-size 2\n--cp-comm-type a2a\n"));
  CHECK(says(megatron, "--use-distributed-optimizer\n--num-distributed-optimizer-instances 2\n"));
  CHECK(says(to("megatron", llama8(), by_tokens(1, 2, Exchange::all_gather)), "--cp-comm-type all_gather\n"));
  const auto titan = older_titan(by_tokens(3, 0, Exchange::ring));
  CHECK(says(titan, "for 8 processes\n"));
  CHECK(says(titan, "data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 2\n"));
  CHECK(says(titan, "context_parallel_degree = 2\ncontext_parallel_rotate_method = \"alltoall\"\n"));
  // Two devices with a half each are one replica's context group.
  CHECK(says(to("torchtitan", llama8(), by_tokens(3, 2, Exchange::all_gather)),
             "            data_parallel_replicate_degree=2,\n            data_parallel_shard_degree=1,\n"
             "            tensor_parallel_degree=1,\n            context_parallel_degree=2,\n"));
  CHECK(to("torchtitan", llama8(), by_tokens(3, 2, Exchange::ring)) ==
        "torchtitan has context parallelism by all_gather, not by ring");
  CHECK(says(to("automodel", llama8(), by_tokens(3, 2, Exchange::all_gather)),
             "  dp_size: 2\n  tp_size: 1\n  pp_size: 2\n  cp_size: 2\n  dp_replicate_size: 2\n"));
  CHECK(to("automodel", llama8(), by_tokens(3, 0, Exchange::ring)) ==
        "NeMo AutoModel has context parallelism by all_gather, not by ring");
  CHECK(to("torchtitan", llama8(), by_tokens(0, 0, Exchange::all_gather)) ==
        "torchtitan shards weights over context groups: the plan has CP without ZeRO");
  CHECK(to("deepspeed", llama8(), by_tokens(1, 0, Exchange::ring)) ==
        "DeepSpeed does not divide the tokens of a sample in its pipelines: the plan has CP2");
  CHECK(says(to("pytorch", llama8(), by_tokens(1, 0, Exchange::ring)), "the plan has CP2"));
  auto three = by_tokens(1, 3, Exchange::ring);
  CHECK(says(to("megatron", llama8(), three), "3 devices are none of CP2"));
}

TEST_CASE("a change of one stage of a runnable plan becomes one of all, and the result can be handed over") {
  const Framework& megatron = framework_named("megatron");
  const RunnablePlans runnable(megatron, llama8().graph, {"llama"});
  auto before = llama8().plan({2, 4, 6, 9}, 4, 1, 4);
  for (auto& stage : before.stages) stage.micro_batch = 4, stage.zero = 1;
  const auto changed = [&](const auto& change) {
    auto plan = before;
    change(plan.stages[2]);
    const auto out = runnable.nearest(plan, &before);
    REQUIRE(out);
    CHECK(refusals(megatron, llama8().graph, *out, false) == std::vector<std::string>{});
    return *out;
  };
  const auto tensor = changed([](plan::Stage& stage) { stage.tensor_parallel = 2; });
  for (const auto& stage : tensor.stages) {
    CHECK(stage.tensor_parallel == 2);
    CHECK(stage.replicas() == 2);
    CHECK(stage.micro_batch == 4);  // two samples for each of two replicas, which stage 2 had
  }
  for (const auto& stage : changed([](plan::Stage& s) { s.micro_batch = 8; }).stages)
    CHECK(stage.micro_batch == 8);
  for (const auto& stage : changed([](plan::Stage& s) { s.zero = 0; }).stages) CHECK(stage.zero == 0);
  for (const auto& stage : changed([](plan::Stage& s) { s.zero = 3; }).stages) CHECK(stage.zero == 1);
  for (const auto& stage : changed([](plan::Stage& s) { s.recompute = plan::kRecomputeCore; }).stages)
    CHECK(stage.recompute == plan::kRecomputeCore);
  // Nothing has a word for whole stages.
  for (const auto& stage : changed([](plan::Stage& s) { s.recompute = plan::kRecomputeStage; }).stages)
    CHECK_FALSE(stage.recompute);
  for (auto& stage : before.stages) stage.recompute = plan::kRecomputeCore;
  for (const auto& stage : changed([](plan::Stage& s) { s.recompute = {}; }).stages)
    CHECK_FALSE(stage.recompute);
  // Without a plan before, what most stages have counts.
  auto plan = before;
  plan.stages[2].tensor_parallel = 2;
  plan.stages[2].micro_batch = 2;
  CHECK(runnable.nearest(plan, nullptr)->stages[2].tensor_parallel == 1);
}

TEST_CASE("a runnable plan has a schedule that suits its stages, and none where it cannot") {
  const Framework& megatron = framework_named("megatron");
  const RunnablePlans runnable(megatron, llama8().graph, {"llama"});
  auto chunks = llama8().plan({2, 4, 6, 9}, 2);
  for (const char* schedule : {"1f1b", "gpipe", "hanayo", "zbv", "interleaved_1f1b"}) {
    chunks.schedule = schedule;
    CHECK(runnable.nearest(chunks, nullptr)->schedule == "interleaved_1f1b");
  }
  auto single = llama8().plan({4, 9}, 2);
  single.schedule = "interleaved_1f1b";
  CHECK(runnable.nearest(single, nullptr)->schedule == "1f1b");
  // Fewer micro-batches than ranks: no interleaving.
  chunks.training.mini_batch = 1;
  CHECK_FALSE(runnable.nearest(chunks, nullptr));
  plan::Plan none;
  CHECK_FALSE(runnable.nearest(none, nullptr));
  CHECK_THROWS_AS(RunnablePlans(megatron, models::build("mmt", {{"layers", "1"}}), {"mmt"}), core::BadInput);
}

// parallel_state.initialize_model_parallel raises for a virtual pipeline on one rank.
TEST_CASE("several stages on a device need a pipeline in Megatron-LM, and become one stage without") {
  const Framework& megatron = framework_named("megatron");
  const RunnablePlans runnable(megatron, llama8().graph, {"llama"});
  auto lone = llama8().plan({2, 4, 6, 9}, 1, 1, 4);
  lone.schedule = "interleaved_1f1b";
  for (auto& stage : lone.stages) stage.micro_batch = 4, stage.zero = 1;
  CHECK(to("megatron", llama8(), lone) ==
        "Megatron-LM runs several stages on a device only in a pipeline: the plan has PP1 with 4 stages");
  CHECK_FALSE(says(to("pytorch", llama8(), lone), "only in a pipeline"));
  auto sharded = lone;
  for (auto& stage : sharded.stages) stage.zero = 2;
  CHECK(says(to("automodel", llama8(), sharded), "only in a pipeline"));
  const auto one = runnable.nearest(lone, nullptr);
  REQUIRE(one);
  REQUIRE(one->stages.size() == 1);
  CHECK(one->stages[0].operators.size() == llama8().graph.size());
  CHECK(one->stages[0].replicas() == 4);
  CHECK(one->schedule == "1f1b");
  CHECK(nearest(megatron, llama8().graph, lone));
  for (const char* in_a_v : {"zbv", "looped_bfs"}) {
    auto v = lone;
    v.schedule = in_a_v;
    const auto merged = nearest(framework_named("torchtitan"), llama8().graph, v);
    REQUIRE(merged);
    CHECK(merged->schedule == "1f1b");
  }
  // Groups that share state stay, where they are whole.
  auto hybrid = lone;
  for (auto& stage : hybrid.stages) stage.zero_over = 2;
  CHECK(runnable.nearest(hybrid, nullptr)->stages[0].zero_over == 2);
  CHECK(nearest(framework_named("deepspeed"), llama8().graph, hybrid)->stages[0].zero_over == 0);
  for (auto& stage : hybrid.stages) stage.zero_over = 3;
  CHECK(runnable.nearest(hybrid, nullptr)->stages[0].zero_over == 0);
  // Buckets are those of replicas.
  auto single = llama8().plan({9}, 1, 2, 1);
  single.training.bucket = lone.training.bucket = core::Bytes(300'000);
  CHECK(runnable.nearest(single, nullptr)->training.bucket.value() == 0);
  CHECK(runnable.nearest(lone, nullptr)->training.bucket.value() == 300'000);
}

// Transformer Engine's utils.get_attention_backend turns the unfused kernels off under context parallelism.
TEST_CASE("context groups need flash attention in Megatron-LM") {
  const Framework& megatron = framework_named("megatron");
  for (const char* how : {"plain", "fused", "flash"}) {
    CAPTURE(how);
    const FrameworkCase gpt("gpt", {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"attention", how}});
    plan::Plan plan = gpt.plan({3}, 1, 1, 4);
    for (auto& stage : plan.stages) stage.context_parallel = 2, stage.micro_batch = 2;
    const bool flash = std::string_view(how) == "flash";
    CHECK(says(to("megatron", gpt, plan), "by flash attention alone") == !flash);
    const auto next = RunnablePlans(megatron, gpt.graph, {"gpt"}).nearest(plan, nullptr);
    REQUIRE(next);
    CHECK(next->stages[0].context_parallel == (flash ? 2 : 1));
  }
}

TEST_CASE("a search for a framework is refused at once for a model that it cannot train") {
  const auto refused = [](const char* framework, const plan::ModelRef& model) {
    CHECK_THROWS_AS(RunnablePlans(framework_named(framework), llama8().graph, model), core::BadInput);
  };
  refused("torchtitan", {"llama", {{"qk_norm", "yes"}}});
  refused("automodel", {"mixtral"});
  CHECK_NOTHROW(RunnablePlans(framework_named("torchtitan"), llama8().graph, {"llama"}));
}

// Megatron-LM 0.19's MoELayer raises in training where a tensor-parallel group has no sequence parallelism.
TEST_CASE("experts under tensor parallelism need sequence parallelism in Megatron-LM") {
  const FrameworkCase mixture("mixtral", {{"layers", "2"},
                                          {"hidden", "64"},
                                          {"heads", "4"},
                                          {"kv_heads", "4"},
                                          {"experts", "8"},
                                          {"chosen", "2"},
                                          {"expert_width", "32"},
                                          {"element_bytes", "2"}});
  auto plan = mixture.plan({1, 3}, 2, 2);
  CHECK(to("megatron", mixture, plan) ==
        "Megatron-LM divides models with experts by TP2 with sequence parallelism alone: the plan has none");
  const auto near = nearest(framework_named("megatron"), mixture.graph, plan);
  REQUIRE(near);
  for (const auto& stage : near->stages) CHECK(stage.sequence_parallel);
}

// Names and fields of torchtitan 0.3.0.
TEST_CASE("torchtitan 0.3 is handed a config function, with modules of every stage") {
  auto plan = llama8().plan({2, 4, 6, 9}, 2, 2, 2);
  for (auto& stage : plan.stages)
    stage.zero = 3, stage.sequence_parallel = true, stage.recompute = plan::kRecomputeLayers;
  const std::string text = to("torchtitan", llama8(), plan);
  CHECK(says(text, "def train() -> Trainer.Config:\n"));
  CHECK(
      says(text,
           "        parallelism=ParallelismConfig(\n            data_parallel_replicate_degree=1,\n"
           "            data_parallel_shard_degree=2,\n            tensor_parallel_degree=2,\n"
           "            enable_sequence_parallel=True,\n            fsdp_reshard_after_forward=\"always\",\n"
           "            pipeline_parallel_degree=2,\n"
           "            pipeline_parallel_schedule=\"Interleaved1F1B\",\n"
           "            pipeline_parallel_microbatch_size=1,\n            module_fqns_per_model_part=[\n"
           "                [\"tok_embeddings\", \"layers.0\", \"layers.1\"],\n"
           "                [\"layers.2\", \"layers.3\"],\n                [\"layers.4\", \"layers.5\"],\n"
           "                [\"layers.6\", \"layers.7\", \"norm\", \"lm_head\"]\n            ],\n        ),\n"
           "        activation_checkpoint=FullAC.Config(),\n"));
  CHECK(says(text,
             "            local_batch_size=32,\n            global_batch_size=64,\n            seq_len=32,\n"
             "            dtype=\"float32\",\n            mixed_precision_param=\"bfloat16\",\n"
             "            mixed_precision_reduce=\"float32\",\n            disable_cuda_graphs=True,\n"));
  CHECK(says(text, "n_layers=8, dim=dim, n_heads=n_heads, n_kv_heads=2, hidden_dim=128,\n"));
  CHECK(says(text, "dim, n_heads, vocab_size = 64, 4, 512\n"));
  CHECK(says(to("torchtitan", llama8(), plan, "order.csv"),
             "            pipeline_parallel_schedule=\"PipelineScheduleMulti\",\n"
             "            pipeline_parallel_schedule_csv=\"order.csv\",\n"));
  for (auto& stage : plan.stages) stage.recompute = {};
  CHECK(says(to("torchtitan", llama8(), plan), "        activation_checkpoint=None,\n"));
  CHECK_FALSE(says(to("torchtitan", llama8(), plan), "FullAC"));
  // Qwen's norms and biases are no part of torchtitan's llama3.
  const FrameworkCase normed("llama", {{"layers", "2"},
                                       {"hidden", "64"},
                                       {"heads", "4"},
                                       {"kv_heads", "4"},
                                       {"qk_norm", "yes"},
                                       {"element_bytes", "2"}});
  CHECK(to("torchtitan", normed, normed.plan({1, 3}, 2)) ==
        "torchtitan gets plans of llama with qk_norm=no only: the model has yes");
  CHECK(says(older_titan(normed, normed.plan({1, 3}, 2)), "qk_norm yes"));
  const FrameworkCase windowed("llama", {{"layers", "2"},
                                         {"hidden", "64"},
                                         {"heads", "4"},
                                         {"kv_heads", "4"},
                                         {"window", "16"},
                                         {"element_bytes", "2"}});
  CHECK(to("torchtitan", windowed, windowed.plan({1, 3}, 2)) ==
        "torchtitan gets plans of llama with window=0 only: the model has 16");
  CHECK(says(older_titan(windowed, windowed.plan({1, 3}, 2)), "window 16"));
  CHECK(says(to("megatron", windowed, windowed.plan({1, 3}, 2)), "--window-size \"(15,0)\""));  // and itself
}

TEST_CASE("a replica of one stage takes a micro-batch at a time, and accumulates") {
  auto plan = llama8().plan({9}, 1, 1, 2);
  for (auto& stage : plan.stages) stage.micro_batch = 8, stage.zero = 3;
  CHECK(says(to("torchtitan", llama8(), plan), "local_batch_size=4,\n            global_batch_size=64,\n"));
  CHECK(says(to("automodel", llama8(), plan), "  global_batch_size: 64\n  local_batch_size: 4\n"));
  CHECK(says(older_titan(plan), "local_batch_size = 4\nglobal_batch_size = 64\n"));
}

TEST_CASE("torchtitan before 0.3: modules of every stage, shards, and the schedule by name or as a file") {
  auto plan = llama8().plan({2, 4, 6, 9}, 2, 2, 2);
  for (auto& stage : plan.stages)
    stage.zero = 3, stage.sequence_parallel = true, stage.recompute = plan::kRecomputeLayers;
  const std::string text = older_titan(plan);
  CHECK(says(
      text,
      "[parallelism]\ndata_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 2\n"
      "tensor_parallel_degree = 2\nenable_sequence_parallel = true\nfsdp_reshard_after_forward = \"always\"\n"
      "pipeline_parallel_degree = 2\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
      "pipeline_parallel_microbatch_size = 1\n"
      "module_fqns_per_model_part = [\n"
      "    [\"tok_embeddings\", \"layers.0\", \"layers.1\"],\n"
      "    [\"layers.2\", \"layers.3\"],\n"
      "    [\"layers.4\", \"layers.5\"],\n"
      "    [\"layers.6\", \"layers.7\", \"norm\", \"output\"]\n"
      "]\n\n[activation_checkpoint]\nmode = \"full\"\n"));
  CHECK(says(text, "local_batch_size = 32\nglobal_batch_size = 64\nseq_len = 32\n"));
  CHECK(says(older_titan(plan, "order.csv"),
             "pipeline_parallel_schedule = \"PipelineScheduleMulti\"\npipeline_parallel_schedule_csv = "
             "\"order.csv\"\n"));
  plan.schedule = "zb_1p";
  CHECK(to("torchtitan", llama8(), plan) ==
        "torchtitan has no name for the schedule zb_1p: hand its order over too (--csv FILE)");
  for (auto& stage : plan.stages) stage.zero = 1;
  CHECK(to("torchtitan", llama8(), plan) ==
        "torchtitan shares state of replicas in pipelines as ZeRO 0 or 2 or 3, not ZeRO 1");
}

TEST_CASE("AutoModel's recipe, DeepSpeed's parts, PyTorch's split points") {
  auto plan = llama8().plan({3, 9}, 2);
  const std::string recipe = to("automodel", llama8(), plan);
  CHECK(says(recipe, "  strategy: fsdp2\n  dp_size: 1\n  tp_size: 1\n  pp_size: 2\n"));
  CHECK(says(recipe,
             "    pp_schedule: 1F1B\n    pp_microbatch_size: 1\n    module_fqns_per_model_part: [\n"
             "      [\"model.embed_tokens\", \"model.layers.0\", \"model.layers.1\", \"model.layers.2\", "
             "\"model.rotary_emb\"],\n"));
  // Embedding and 3 layers, then 5 layers and the head.
  CHECK(says(
      to("deepspeed", llama8(), plan),
      "    \"stages\": 2,\n    \"layers\": \"embedding, 8 layers, head\",\n    \"parts\": [0, 4, 10],\n"));
  CHECK(says(to("deepspeed", llama8(), plan), "\"gradient_accumulation_steps\": 64,"));
  CHECK(says(to("pytorch", llama8(), plan),
             "split_spec = {\n    \"model.layers.3\": SplitPoint.BEGINNING,\n}\n"));
  CHECK(says(to("pytorch", llama8(), llama8().plan({8, 9}, 2)), "\"model.norm\": SplitPoint.BEGINNING"));
  CHECK(says(to("pytorch", llama8(), llama8().plan({2, 4, 6, 9}, 2)), "ranks_of_stages = [0, 1, 0, 1]\n"));
  const FrameworkCase opt(
      "opt", {{"layers", "2"}, {"hidden", "8"}, {"heads", "1"}, {"vocabulary", "16"}, {"sequence", "4"}});
  CHECK(
      to("torchtitan", opt, opt.plan({1, 3}, 2)) ==
      "torchtitan gets plans of llama models only: the names of other models' modules are not known here; the model is opt");
  plan::Plan released = opt.plan({1, 3}, 2);
  released.model.label = "galactica";
  CHECK(to("torchtitan", opt, released).ends_with("the model is galactica (opt)"));
  CHECK(says(to("megatron", opt, opt.plan({1, 3}, 2)), "# The model's own arguments are left to you: opt"));
  CHECK(says(to("megatron", opt, opt.plan({1, 3}, 2)),
             "# Megatron-LM has no argument for: activation relu, attention "));
  for (const char* name : {"torchtitan", "automodel", "pytorch", "deepspeed"}) {
    CAPTURE(name);
    if (std::string_view(name) == "torchtitan")
      CHECK(says(to(name, llama8(), plan), "theta=500000"));
    else
      CHECK(says(to(name, llama8(), plan), "rope_base 500000"));
    CHECK(says(to(name, llama8(), plan), "norm_epsilon 1e-05"));
  }
  CHECK_THROWS_WITH_AS(framework_named("megatrn"), "unknown framework 'megatrn'; did you mean 'megatron'?",
                       core::BadInput);
}

TEST_CASE("an order handed over reads back with the plan's passes and no others") {
  auto plan = llama8().plan({2, 4, 6, 9}, 2);
  plan.training.mini_batch = 4;
  const auto order = schedule::parse_schedule(order_csv(plan), "order.csv");
  REQUIRE(order.ranks.size() == 2);
  for (const auto& rank : order.ranks)  // two stages, four micro-batches, forward and backward
    CHECK(std::ranges::count_if(rank, [](const auto& a) { return a.kind != schedule::ActionKind::idle; }) ==
          2 * 4 * 2);
}

TEST_CASE("the nearest plan: cuts rounded to where most of a layer's work is") {
  // Stage 0 keeps only the first norm of layer 3 (norm, attention, sum, norm, gate, swiglu, down, sum): it
  // goes to 1.
  auto plan = llama8().plan({4, 9}, 2);
  auto& first = plan.stages[0].operators;
  auto& second = plan.stages[1].operators;
  while (llama8().graph.op(first.back()).name != "layer3.norm1") {
    second.insert(second.begin(), first.back());
    first.pop_back();
  }
  const auto next = nearest(framework_named("megatron"), llama8().graph, plan);
  REQUIRE(next);
  CHECK(next->stages[0].operators == llama8().plan({3, 9}, 2).stages[0].operators);
  CHECK(next->planner == "nearest");
}

TEST_CASE("a plan of unlike degrees comes to the most common ones on the same devices") {
  // 2 + 2 + 4 devices as TP2, TP2, TP1 x DP4: three ranks of TP2 do not divide eight devices; four ranks of
  // them do.
  auto plan = llama8().plan({2, 4, 9}, 3, 2);
  plan.stages[2].devices.push_back(DeviceId(6));
  plan.stages[2].devices.push_back(DeviceId(7));
  CHECK_FALSE(nearest(framework_named("megatron"), llama8().graph, plan));
  plan = llama8().plan({2, 4, 6, 9}, 4, 2);
  plan.stages[3].tensor_parallel = 1;
  plan.stages[3].micro_batch = 2;
  plan.stages[3].recompute = plan::kRecomputeStage;
  const auto next = nearest(framework_named("megatron"), llama8().graph, plan);
  REQUIRE(next);
  for (const auto& stage : next->stages) {
    CHECK(stage.tensor_parallel == 2);
    CHECK(stage.replicas() == 1);
    CHECK(stage.micro_batch == 1);
    CHECK(stage.recompute == plan::kRecomputeLayers);
  }
  const auto spread = nearest(framework_named("deepspeed"), llama8().graph, plan);
  REQUIRE(spread);
  CHECK(spread->stages[0].tensor_parallel == 1);
  CHECK(spread->stages[0].replicas() == 2);
}

TEST_CASE(
    "the nearest plan of random cuts is valid and accepted; of an accepted plan it is the plan itself") {
  core::Random random(11);
  const auto cluster = cluster::load_cluster("8xH100").first(4);
  std::size_t mended_plans = 0;
  for (int turn = 0; turn < 200; ++turn) {
    auto plan = llama8().plan({2, 4, 6, 9}, 4);
    std::vector<int> ends = {static_cast<int>(llama8().graph.size())};
    for (int i = 0; i < 3; ++i)
      ends.push_back(random.between(1, static_cast<int>(llama8().graph.size()) - 1));
    std::ranges::sort(ends);
    int from = 0;
    for (std::size_t s = 0; s < 4; ++s) {
      plan.stages[s].operators.clear();
      for (; from < ends[s]; ++from) plan.stages[s].operators.emplace_back(static_cast<std::size_t>(from));
    }
    if (!plan::structural_violations(llama8().graph, cluster, plan).empty()) continue;
    for (const Framework& framework : catalogue()) {
      CAPTURE(framework.name);
      const auto next = nearest(framework, llama8().graph, plan);
      REQUIRE(next);
      CHECK(plan::structural_violations(llama8().graph, cluster, *next).empty());
      const auto again = nearest(framework, llama8().graph, *next);
      REQUIRE(again);
      REQUIRE(next->stages.size() == (framework.can.pipeline ? 4 : 1));
      REQUIRE(again->stages.size() == next->stages.size());
      for (std::size_t s = 0; s < next->stages.size(); ++s)
        CHECK(again->stages[s].operators == next->stages[s].operators);
      ++mended_plans;
    }
  }
  CHECK(mended_plans > 400);
}

TEST_CASE("a step of DeepSpeed: micro-batches of all replicas, layers computed again, state in shards") {
  auto plan = llama8().plan({4, 9}, 2, 1, 4);
  for (auto& stage : plan.stages) stage.micro_batch = 8;  // two samples for each of four replicas
  const auto json = [&] { return to("deepspeed", llama8(), plan); };
  // 64 samples in steps of 2 x 4.
  CHECK(says(json(), "\"train_batch_size\": 64,\n"));
  CHECK(says(json(), "\"train_micro_batch_size_per_gpu\": 2,\n"));
  CHECK(says(json(), "\"gradient_accumulation_steps\": 8,\n"));
  CHECK(says(json(), "\"activation_checkpoint_interval\": 0\n"));
  CHECK(says(json(), "\"zero_optimization\": {\"stage\": 0}"));
  for (auto& stage : plan.stages) {
    stage.recompute = plan::kRecomputeLayers;
    stage.zero = 1;
  }
  CHECK(says(json(), "\"activation_checkpoint_interval\": 1\n"));
  CHECK(says(json(), "\"zero_optimization\": {\"stage\": 1}"));
  // One replica has nothing to share.
  auto alone = llama8().plan({4, 9}, 2);
  for (auto& stage : alone.stages) stage.zero = 1;
  CHECK(says(to("deepspeed", llama8(), alone), "\"zero_optimization\": {\"stage\": 0}"));
}

TEST_CASE("torch's micro-batches, and weights that only ZeRO 3 gathers again") {
  auto plan = llama8().plan({4, 9}, 2, 1, 4);
  for (auto& stage : plan.stages) stage.micro_batch = 8;
  // A replica's 16 samples in micro-batches of 2.
  CHECK(says(to("pytorch", llama8(), plan), "n_microbatches = 8  # of 2 samples of a replica\n"));
  CHECK(says(older_titan(plan), "local_batch_size = 16\nglobal_batch_size = 64\n"));
  for (const auto& [zero, when] : {std::pair{2, "never"}, std::pair{3, "always"}}) {
    for (auto& stage : plan.stages) stage.zero = zero;
    CHECK(says(older_titan(plan), std::string("fsdp_reshard_after_forward = \"") + when + "\"\n"));
    CHECK(says(to("torchtitan", llama8(), plan),
               std::string("fsdp_reshard_after_forward=\"") + when + "\",\n"));
  }
}

TEST_CASE("optimizers and precisions in Megatron-LM's words") {
  auto plan = llama8().plan({4, 9}, 2);
  const auto text = [&] { return to("megatron", llama8(), plan); };
  plan.training.optimizer = plan::Optimizer::momentum;
  CHECK(says(text(), "--optimizer sgd\n--sgd-momentum 0.9\n"));
  plan.training.optimizer = plan::Optimizer::sgd;
  CHECK(says(text(), "--optimizer sgd\n--sgd-momentum 0\n"));
  CHECK(says(text(), "--bf16\n"));
  plan.training.precision = plan::mixed_precision("mixed_fp16");
  CHECK(says(text(), "--fp16\n"));
  CHECK_FALSE(says(text(), "--bf16"));
}

TEST_CASE("two-byte weights without a precision are bf16, four-byte ones fp32") {
  auto plan = llama8().plan({4, 9}, 2);
  plan.training.precision = {};
  CHECK(precision_of(llama8().graph, plan) == "bf16");
  const FrameworkCase fp32(
      "llama",
      {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"kv_heads", "4"}, {"element_bytes", "4"}});
  CHECK(precision_of(fp32.graph, fp32.plan({1, 3}, 2)) == "fp32");
}

TEST_CASE("the nearest plan takes the larger of two equally common values, and a micro-batch that divides") {
  const Framework& megatron = framework_named("megatron");
  // Two stages of TP1 and TP2 on four devices: TP2, so that one replica is left.
  auto plan = llama8().plan({4, 9}, 2, 2, 1);
  plan.stages[0].tensor_parallel = 1;
  plan.stages[0].micro_batch = 2;
  plan.stages[1].micro_batch = 2;
  const auto taken = nearest(megatron, llama8().graph, plan);
  REQUIRE(taken);
  CHECK(taken->stages[0].tensor_parallel == 2);
  // Micro-batches of five for each of two replicas do not divide 64: four do.
  auto odd = llama8().plan({4, 9}, 2, 1, 2);
  for (auto& stage : odd.stages) stage.micro_batch = 10;
  const auto even = nearest(megatron, llama8().graph, odd);
  REQUIRE(even);
  CHECK(even->stages[0].micro_batch == 8);
  // 24 samples: three for each of two replicas, six for a single one, divide; eight for two do not.
  odd.training.mini_batch = 24;
  for (auto& stage : odd.stages) stage.micro_batch = 16;
  CHECK(nearest(megatron, llama8().graph, odd)->stages[0].micro_batch == 12);
  // ZeRO 2 comes to the next framework's stage that shards as much: ZeRO 3 of AutoModel, ZeRO 1 of
  // Megatron-LM, which has no more.
  for (auto& stage : odd.stages) stage.zero = 2;
  CHECK(nearest(megatron, llama8().graph, odd)->stages[0].zero == 1);
  CHECK(nearest(framework_named("torchtitan"), llama8().graph, odd)->stages[0].zero == 2);
}

TEST_CASE("a layer that is cut goes where most of its work is, not most of its operators") {
  // All of layer 3 but its products in the first stage: the products decide.
  auto plan = llama8().plan({4, 9}, 2);
  auto &first = plan.stages[0].operators, &second = plan.stages[1].operators;
  std::size_t moved = 0, stayed = 0;
  for (auto it = first.begin(); it != first.end();) {
    const auto& op = llama8().graph.op(*it);
    const bool product = op.kind == graph::OpKind::linear || op.kind == graph::OpKind::attention;
    if (llama8().row.part_of[it->index()] == 4 && product) {
      second.push_back(*it);
      it = first.erase(it);
      ++moved;
    } else {
      stayed += llama8().row.part_of[it->index()] == 4 ? 1 : 0;
      ++it;
    }
  }
  REQUIRE(stayed > moved);
  std::ranges::sort(second);
  const auto taken = nearest(framework_named("megatron"), llama8().graph, plan);
  REQUIRE(taken);
  for (std::size_t v = 0; v < llama8().graph.size(); ++v)
    if (llama8().row.part_of[v] == 4) CHECK(std::ranges::count(taken->stages[1].operators, OpId(v)) == 1);
}

TEST_CASE("nearest plans of a row without embedding, and of a stage without layers to compute again") {
  // Operators of layers only.
  graph::GraphBuilder builder("bare");
  for (const char* name : {"layer0.a", "layer0.b", "layer1.a", "layer1.b"}) {
    graph::Operator op;
    op.name = name;
    op.kind = graph::OpKind::profiled;
    op.forward_flops = core::Flops(1e9);
    op.output_bytes = core::Bytes(1000);
    builder.add(op);
  }
  for (std::size_t v = 1; v < 4; ++v) builder.add_edge(OpId(v - 1), OpId(v));
  const auto bare = builder.build();
  plan::Plan two;
  two.training = {8};
  for (std::size_t s = 0; s < 2; ++s) {
    plan::Stage& stage = two.stages.emplace_back();
    stage.operators = {OpId(2 * s), OpId(2 * s + 1)};
    stage.devices = {DeviceId(s)};
  }
  for (const Framework& each : catalogue())
    if (const auto near = nearest(each, bare, two))
      CHECK(near->stages[0].operators.size() == (each.can.pipeline ? 2 : 4));
  // The last stage has only the head.
  auto plan = llama8().plan({4, 8, 9}, 3);
  for (auto& stage : plan.stages) stage.recompute = plan::kRecomputeStage;
  const auto near = nearest(framework_named("megatron"), llama8().graph, plan);
  REQUIRE(near);
  CHECK(near->stages[0].recompute == plan::kRecomputeLayers);
  CHECK(near->stages[1].recompute == plan::kRecomputeLayers);
  CHECK_FALSE(near->stages[2].recompute);
}

TEST_CASE("the stages of ZeRO that frameworks' pipelines have") {
  // Two stages of two replicas; what is refused for its ZeRO stage names it.
  auto plan = llama8().plan({4, 9}, 2, 1, 2);
  for (auto& stage : plan.stages) stage.micro_batch = 2;
  const std::map<std::string, std::string> known = {{"megatron", "01"},  {"torchtitan", "023"},
                                                    {"deepspeed", "01"}, {"automodel", "23"},
                                                    {"pytorch", "0123"}, {"accelerate", "023"}};
  for (const auto& [name, stages] : known) {
    std::string taken;
    for (int zero = 0; zero <= 3; ++zero) {
      for (auto& stage : plan.stages) stage.zero = zero;
      bool refused = false;
      for (const std::string& why : refusals(framework_named(name), llama8().graph, plan, false))
        refused = refused || says(why, "as ZeRO");
      if (!refused) taken += static_cast<char>('0' + zero);
    }
    CAPTURE(name);
    CHECK(taken == stages);
  }
}

TEST_CASE("tensor-parallel ranks have whole heads; Megatron-LM's may share one of keys and values") {
  // llama8 has 4 heads, 2 of keys and values.
  const plan::Plan four = llama8().plan({9}, 1, 4, 2);
  CHECK(refusals(framework_named("megatron"), llama8().graph, four, false).empty());
  plan::Plan sharded = four;
  sharded.stages[0].zero = 3;
  const auto why = refusals(framework_named("torchtitan"), llama8().graph, sharded, false);
  REQUIRE(why.size() == 1);
  CHECK(
      why.front() ==
      "torchtitan gives every tensor-parallel rank whole heads of queries and of keys: the plan has TP4, TP2 would do");
  const auto near = nearest(framework_named("torchtitan"), llama8().graph, sharded);
  REQUIRE(near.has_value());
  CHECK(near->stages[0].tensor_parallel == 2);
  CHECK(near->stages[0].devices.size() == 8);
  // Eight ranks have no whole head of queries anywhere.
  const plan::Plan eight = llama8().plan({9}, 1, 8);
  CHECK(says(refusals(framework_named("megatron"), llama8().graph, eight, false).front(), "TP4 would do"));
}

TEST_CASE("the degree that gives whole heads suits all attention of a model") {
  graph::GraphBuilder builder("two");
  for (const std::int64_t heads : {6, 4}) {
    graph::Operator op;
    op.name = "attention" + std::to_string(heads);
    op.kind = graph::OpKind::attention;
    op.attributes = graph::Attention{.queries = 4, .keys = 4, .hidden = 24, .heads = heads};
    builder.add(op);
  }
  builder.add_edge(OpId(0), OpId(1));
  const auto graph = builder.build();
  CHECK(degree_of_whole_heads(graph, framework_named("megatron").can, 12) == 2);
}

namespace {

/// Two layers; `more` goes before these values.
std::string described_to_megatron(std::map<std::string, std::string> more) {
  more.merge(std::map<std::string, std::string>{{"layers", "2"},
                                                {"hidden", "64"},
                                                {"heads", "4"},
                                                {"kv_heads", "2"},
                                                {"head_width", "16"},
                                                {"mixers", "full"},
                                                {"norms", "before"},
                                                {"feed_forward", "96"},
                                                {"activation", "silu"},
                                                {"vocabulary", "512"},
                                                {"sequence", "32"}});
  const FrameworkCase one("decoder", more);
  return to("megatron", one, one.plan({1, 3}, 2));
}

using DecoderValues = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("a described decoder is in Megatron-LM's words") {
  const std::string usual = described_to_megatron({});
  CHECK(says(usual, "--num-layers 2\n--hidden-size 64\n--num-attention-heads 4\n--ffn-hidden-size 96\n"));
  CHECK(says(usual, "--normalization RMSNorm\n--swiglu\n--disable-bias-linear\n"));
  for (const char* absent : {"--window", "--no-rope", "--moe", "--qk", "--softmax-type", "no argument"})
    CHECK_FALSE(says(usual, absent));
  const DecoderValues experts = {{"experts", "4"}, {"chosen", "2"}, {"expert_width", "32"}};
  const std::pair<DecoderValues, std::string> said[] = {
      {{{"mixers", "window(8)"}}, "--window-size \"(7,0)\"\n--window-attn-skip-freq \"([1,1])\"\n"},
      {{{"mixers", "window(8)+full"}}, "--window-size \"(7,0)\"\n--window-attn-skip-freq \"([1,0])\"\n"},
      {{{"mixers", "full+nope"}}, "--no-rope-freq \"([0,1])\"\n"},
      {{{"mixers", "latent"}, {"key_rank", "8"}, {"rotary_width", "4"}, {"value_width", "12"}},
       "--kv-lora-rank 8\n--qk-head-dim 16\n--qk-pos-emb-head-dim 4\n--v-head-dim 12\n"},
      {{{"qk_norm", "head"}}, "--qk-layernorm\n"},
      {{{"qk_norm", "plain"}}, "--qk-l2-norm\n"},
      {{{"sinks", "yes"}}, "--softmax-type learnable\n"},
      {{{"attention_bias", "qkv"}}, "--add-qkv-bias\n"},
      {{{"gated", "no"}, {"activation", "relu2"}}, "--squared-relu\n--no-bias-gelu-fusion\n"},
      {{{"learned_positions", "40"}, {"mixers", "nope"}},
       "--max-position-embeddings 40\n--position-embedding-type learned_absolute\n"},
      {{{"tied_head", "no"}}, "--untie-embeddings-and-output-weights\n"}};
  for (const auto& [values, words] : said) {
    CAPTURE(words);
    CHECK(says(described_to_megatron(values), words));
    CHECK_FALSE(says(usual, words));
  }
  DecoderValues mixed = experts;
  mixed["feed_forwards"] = "dense+experts";
  CHECK(says(described_to_megatron(mixed), "--moe-layer-freq \"([0,1])\"\n"));
  CHECK_FALSE(says(described_to_megatron({{"attention_bias", "yes"}, {"feed_forward_bias", "yes"}}),
                   "--disable-bias-linear"));
  CHECK_FALSE(says(described_to_megatron({{"norm", "layer"}}), "RMSNorm"));
}

TEST_CASE("a part of a described decoder that Megatron-LM has no words for is refused by name") {
  const DecoderValues experts = {
      {"experts", "4"}, {"chosen", "2"}, {"expert_width", "32"}, {"feed_forwards", "experts"}};
  const auto with_experts = [&](const char* key, const char* value) {
    DecoderValues out = experts;
    out[key] = value;
    return out;
  };
  const std::pair<DecoderValues, std::string> refused[] = {
      {{{"norms", "both"}}, "norms=both"},
      {{{"norm", "rms_plain"}}, "norm=rms_plain"},
      {{{"branches", "shared_norm"}}, "branches=shared_norm"},
      {{{"embedding_norm", "yes"}}, "embedding_norm=yes"},
      {{{"final_norm", "no"}}, "final_norm=no"},
      {{{"mixers", "window(8)+window(4)"}}, "mixers=window(8)+window(4)"},
      {{{"mixers", "blocks(8)+nope"}}, "mixers=blocks(8)+nope"},
      {{{"mixers", "full+convolution"}}, "mixers=full+convolution"},
      {{{"mixers", "selective"}, {"state_channels", "64"}, {"state_width", "4"}, {"step_rank", "2"}},
       "mixers=selective"},
      {{{"mixers", "none+full"}}, "mixers=none+full"},
      {{{"feed_forwards", "none"}}, "feed_forwards=none"},
      {{{"norms", "before+after"}}, "norms=before+after"},
      {{{"mixers", "window(8)+full"}, {"window_kv_heads", "4"}}, "window_kv_heads=4"},
      {{{"mixers", "window(8)+full"}, {"sinks", "window"}}, "sinks=window"},
      {{{"feed_forwards", "dense+dense(32)"}}, "feed_forwards=dense+dense(32)"},
      {{{"activation", "gelu"}}, "activation=gelu gated=yes"},
      {{{"activation", "silu"}, {"gated", "no"}}, "activation=silu gated=no"},
      {{{"qk_norm", "whole"}}, "qk_norm=whole"},
      {{{"qk_norm", "head"}, {"norm", "layer"}}, "qk_norm=head"},
      {{{"attention_bias", "yes"}}, "attention_bias=yes feed_forward_bias=no expert_bias=no"},
      {{{"attention_bias", "output"}}, "attention_bias=output"},
      {{{"learned_positions", "40"}}, "learned_positions=40"},
      {{{"value_width", "8"}}, "value_width=8"},
      {{{"tied_head", "no"}, {"head_bias", "yes"}}, "head_bias=yes"},
      {{{"mask", "none"}}, "mask=none"},
      {with_experts("router_offset", "yes"), "router_offset=yes"},
      {with_experts("expert_clamp", "yes"), "expert_clamp=yes"},
      {with_experts("expert_bias", "yes"), "attention_bias=no feed_forward_bias=no expert_bias=yes"}};
  for (const auto& [values, part] : refused)
    CHECK(says(described_to_megatron(values), "Megatron-LM has no words for " + part));
  CHECK(says(described_to_megatron(experts), "--moe-layer-freq \"([1,1])\"\n"));
}

TEST_CASE("Megatron-LM gets muon and lion, and comes back with them; what it cannot run is refused by name") {
  auto plan = llama8().plan({9}, 1, 1, 2);
  const auto with = [&](const char* framework, plan::Optimizer optimizer) {
    plan.training.optimizer = optimizer;
    return to(framework, llama8(), plan);
  };
  for (const plan::Optimizer optimizer : {plan::Optimizer::muon, plan::Optimizer::lion}) {
    const std::string text = with("megatron", optimizer);
    CHECK(says(text, "--optimizer " + std::string(plan::name(optimizer)) + "\n"));
    CHECK(!says(text, "--sgd-momentum"));
    const auto back = frameworks::from_megatron(text, "run.sh", {"8xH100", 2}, 2, {});
    CHECK(back.plan.training.optimizer == optimizer);
  }
  CHECK(with("megatron", plan::Optimizer::adam8bit) ==
        "Megatron-LM gets no plans with the optimizer adam8bit: its settings here do not name it");
  for (const char* framework : {"torchtitan", "deepspeed", "automodel", "pytorch", "accelerate"}) {
    plan.stages.front().zero = std::string_view(framework) == "automodel" ? 2 : 0;  // it has no copies
    const std::string told = with(framework, plan::Optimizer::muon);
    CAPTURE(told);
    CHECK(says(told, "the optimizer muon"));
  }
  plan.stages.front().zero = 0;
  plan.training.precision = plan::mixed_precision("mixed_fp16");
  CHECK(with("megatron", plan::Optimizer::muon) == "Megatron-LM does not run muon in fp16");
  CHECK(says(with("megatron", plan::Optimizer::lion), "--fp16"));
}
