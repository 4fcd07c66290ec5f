#include "penstock/frameworks/from_megatron.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/random.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "support/checkout.hpp"

using namespace penstock;
using frameworks::from_megatron;
using frameworks::MegatronRun;

namespace {

const std::string kModel =
    "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 "
    "\\\n"
    "  --vocab-size 512 --make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16 ";
const std::string kLlama =
    kModel +
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights --ffn-hidden-size 128 ";

MegatronRun read(const std::string& text, std::int64_t devices, const std::string& file = "train.sh") {
  return from_megatron(text, file, {"8xH100", static_cast<int>(devices)}, devices, {});
}

std::string refusal(const std::string& text, std::int64_t devices = 4, const std::string& file = "train.sh") {
  try {
    read(text, devices, file);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

/// [stage] its layers of the decoder.
std::vector<std::int64_t> layers_of(const plan::Plan& plan) {
  const auto graph = models::build(plan.model.name, plan.model.parameters);
  const auto reading = frameworks::read_layers(graph, plan);
  REQUIRE(reading.plan);
  std::vector<std::int64_t> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) out.push_back(reading.plan->layers(s));
  return out;
}

using Counts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a launch script: arrays, variables, comments, quotes, and arguments of others") {
  const std::string script =
      "#!/bin/bash\n"
      "TP=2\nPP=${PP:-2}   # of the environment, or 2\n"
      "MODEL_ARGS=(\n    --num-layers 8 --hidden-size 64\n    --num-attention-heads 4   # heads\n"
      "    --seq-length 32 --max-position-embeddings 32\n    --vocab-size 500 --make-vocab-size-divisible-by "
      "4\n)\n"
      "TRAINING=\"--micro-batch-size 2 --global-batch-size 16 --bf16 --lr 6.0e-5\"\n"
      "torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_ARGS[@]} $TRAINING \\\n"
      "  --tensor-model-parallel-size $TP --pipeline-model-parallel-size=${PP} --sequence-parallel \\\n"
      "  --use-distributed-optimizer --recompute-granularity full --recompute-method block "
      "--recompute-num-layers 3\n";
  const MegatronRun run = read(script, 8);
  CHECK(run.plan.model.name == "gpt");
  CHECK(run.plan.model.parameters.at("vocabulary") == "504");  // the next multiple of 4 x TP2
  CHECK(run.plan.model.parameters.at("element_bytes") == "2");
  CHECK(run.plan.training.mini_batch == 16);
  CHECK(run.plan.stages.size() == 2);
  for (const auto& stage : run.plan.stages) {
    CHECK(stage.tensor_parallel == 2);
    CHECK(stage.replicas() == 2);
    CHECK(stage.micro_batch == 4);
    CHECK(stage.zero == 1);
    CHECK(stage.sequence_parallel);
    CHECK(plan::written(stage.recompute) == "3 layers");
  }
  CHECK(layers_of(run.plan) == Counts{4, 4});
  CHECK(run.unread == std::vector<std::string>{"lr", "nproc_per_node"});
}

TEST_CASE("context groups and instances of the distributed optimizer are read") {
  const std::string two =
      kModel + " --context-parallel-size 2 --cp-comm-type allgather --use-distributed-optimizer";
  const MegatronRun run = read(two + " --num-distributed-optimizer-instances 2", 8);
  for (const auto& stage : run.plan.stages) {
    CHECK(stage.context_parallel == 2);
    CHECK(stage.context_exchange == plan::ContextExchange::all_gather);
    CHECK(stage.replicas() == 4);
    CHECK(stage.zero == 1);
    CHECK(stage.zero_over == 4);  // of eight with equal weights
  }
  CHECK(run.unread.empty());
  CHECK(read(two, 2).plan.stages.front().zero == 1);  // two groups of one replica share
  CHECK(refusal(two + " --num-distributed-optimizer-instances 3").find("are not 3 instances") !=
        std::string::npos);
}

TEST_CASE("a YAML file gives the same names, as deep as it likes") {
  const MegatronRun run = read(
      "model:\n  num_layers: 8\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length: 32\n"
      "  max_position_embeddings: 32\n  vocab_size: 512\n  make_vocab_size_divisible_by: 1\n"
      "parallel: {pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2, "
      "sequence_parallel: false}\n"
      "train: {micro_batch_size: 1, global_batch_size: 16, bf16: true, data: [a, b]}\n",
      2, "run.yaml");
  CHECK(run.plan.schedule == "interleaved_1f1b");
  CHECK(layers_of(run.plan) == Counts{2, 2, 2, 2});
  CHECK(plan::rank_of_stage(run.plan) == std::vector<std::int32_t>{0, 1, 0, 1});
  CHECK(run.plan.training.precision == plan::mixed_precision("mixed_bf16"));
}

TEST_CASE("a key that two mappings of a YAML file give different values is refused with both lines") {
  const std::string rest =
      "model:\n  num_layers: 8\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length: 32\n"
      "  max_position_embeddings: 32\n  vocab_size: 512\n  make_vocab_size_divisible_by: 1\n"
      "train: {micro_batch_size: 1, global_batch_size: 16}\n";
  CHECK(refusal(rest + "other: {num_layers: 8}\n", 1, "run.yaml") == "taken");
  CHECK(refusal(rest + "other: {num-layers: 12}\n", 1, "run.yaml") ==
        "run.yaml:10: num_layers: is '12' here and '8' in line 2: keep one of them");
}

TEST_CASE("splits: even, first and last, virtual stages, layout") {
  const auto split = [](const std::string& text, std::int64_t devices) {
    return layers_of(read(kLlama + text, devices).plan);
  };
  CHECK(split("--pipeline-model-parallel-size 4", 4) == Counts{2, 2, 2, 2});
  CHECK(split("--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 1 "
              "--decoder-last-pipeline-num-layers 1",
              4) == Counts{1, 3, 3, 1});
  CHECK(split("--pipeline-model-parallel-size 4 --decoder-last-pipeline-num-layers 2", 4) ==
        Counts{2, 2, 2, 2});
  CHECK(split("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", 2) ==
        Counts{1, 1, 1, 1, 1, 1, 1, 1});
  // Rank 0 has 2 layers, rank 1 has 6, each in two stages.
  CHECK(split("--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 2 "
              "--num-virtual-stages-per-pipeline-rank 2",
              2) == Counts{1, 3, 1, 3});
  CHECK(split("--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout \"E|(t*4|)*2,L\"", 4) ==
        Counts{0, 4, 4, 0});
}

TEST_CASE("a plan that was handed over comes back") {
  core::Random random(5);
  for (int turn = 0; turn < 60; ++turn) {
    const int ranks = random.between(1, 4), chunks = ranks > 1 ? random.between(1, 2) : 1,
              tensor = 1 << random.between(0, 1), data = 1 << random.between(0, 1);
    // As many stages of random layers, 8 together.
    std::vector<int> counts(static_cast<std::size_t>(ranks * chunks), 1);
    for (int left = 8 - ranks * chunks; left > 0; --left)
      ++counts[static_cast<std::size_t>(random.between(0, ranks * chunks - 1))];
    std::string layout = "E";
    for (std::size_t s = 0; s < counts.size(); ++s)
      layout += std::string(static_cast<std::size_t>(counts[s]), 't') + (s + 1 < counts.size() ? "|" : "L");
    const std::string text =
        kLlama + (ranks * chunks > 1 ? "--pipeline-model-parallel-layout '" + layout + "'" : "") +
        " --pipeline-model-parallel-size " + std::to_string(ranks) + " --tensor-model-parallel-size " +
        std::to_string(tensor) + (random.chance(0.5) ? " --sequence-parallel" : "") +
        (random.chance(0.5) ? " --bf16" : "") + (random.chance(0.5) ? " --use-distributed-optimizer" : "") +
        (random.chance(0.5) ? " --recompute-granularity selective" : " --overlap-grad-reduce");
    CAPTURE(text);
    const plan::Plan first = read(text, ranks * tensor * data).plan;
    const auto graph = models::build(first.model.name, first.model.parameters);
    const auto& megatron = frameworks::framework_named("megatron");
    REQUIRE(frameworks::refusals(megatron, graph, first, false) == std::vector<std::string>{});
    const std::string out = frameworks::exported(megatron, graph, first, "");
    CAPTURE(out);
    const plan::Plan again = read(out, ranks * tensor * data).plan;
    CHECK(again.model.parameters == first.model.parameters);
    CHECK(again.schedule == first.schedule);
    CHECK(again.training.precision == first.training.precision);
    if (data > 1) CHECK(again.training.bucket == first.training.bucket);
    REQUIRE(again.stages.size() == first.stages.size());
    for (std::size_t s = 0; s < first.stages.size(); ++s) {
      const auto &a = first.stages[s], &b = again.stages[s];
      CHECK(a.operators == b.operators);
      CHECK(a.devices == b.devices);
      CHECK(a.micro_batch == b.micro_batch);
      CHECK(a.tensor_parallel == b.tensor_parallel);
      CHECK(a.zero == b.zero);
      CHECK(a.sequence_parallel == b.sequence_parallel);
      CHECK(a.recompute == b.recompute);
    }
  }
}

TEST_CASE("what a config states comes back from Megatron-LM's arguments") {
  for (const char* name : {"qwen3_32b", "llama3_8b", "mixtral_8x7b", "qwen15_moe_a27b", "gpt2"}) {
    CAPTURE(name);
    const std::string file = support::checkout(std::string("/tests/frameworks/configs/") + name + ".json");
    plan::Plan plan;
    plan.model = frameworks::parse_hf_config(core::read_file(file), file, 512).model;
    plan.model.parameters["layers"] = "2";
    plan.training = {8, plan::Optimizer::adam};
    const auto graph = models::build(plan.model.name, plan.model.parameters);
    plan::Stage& stage = plan.stages.emplace_back();
    for (std::size_t v = 0; v < graph.size(); ++v) stage.operators.emplace_back(v);
    stage.devices = {core::DeviceId(0)};
    const std::string text = frameworks::exported(frameworks::framework_named("megatron"), graph, plan, "");
    const auto again = read(text, 1).plan.model.parameters;
    for (const auto& model : models::catalogue())
      for (const auto& parameter : model.parameters) {
        if (model.name != plan.model.name || parameter.computes) continue;
        const auto value = [&](const std::map<std::string, std::string>& from) {
          const auto found = from.find(parameter.name);
          return found == from.end() ? parameter.default_value : found->second;
        };
        CAPTURE(parameter.name);
        CHECK(value(again) == value(plan.model.parameters));
      }
  }
  const std::string scaled = "--use-rope-scaling --rope-scaling-factor 32 --rotary-base 500000 ";
  CHECK(read(kLlama + scaled, 1).plan.model.parameters.at("rope_scaling").starts_with("llama3:factor=32:"));
  CHECK(refusal(kLlama + "--norm-epsilon small")
            .find("norm_epsilon: expected a number of 0 or more, found 'small'") != std::string::npos);
}

TEST_CASE("a plan with experts comes back, in expert groups") {
  const std::string text =
      kLlama +
      "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 48 --moe-shared-expert-intermediate-size 16 "
      "--expert-model-parallel-size 4 --pipeline-model-parallel-size 2 --bf16";
  const plan::Plan first = read(text, 8).plan;
  CHECK(first.model.name == "mixtral");
  CHECK(first.model.parameters.at("expert_width") == "48");
  const auto graph = models::build(first.model.name, first.model.parameters);
  const auto& megatron = frameworks::framework_named("megatron");
  REQUIRE(frameworks::refusals(megatron, graph, first, false) == std::vector<std::string>{});
  const plan::Plan again = read(frameworks::exported(megatron, graph, first, ""), 8).plan;
  CHECK(again.model.parameters == first.model.parameters);
  for (std::size_t s = 0; s < 2; ++s) {
    CHECK(first.stages[s].expert_parallel == 4);
    CHECK(again.stages[s].expert_parallel == 4);
    CHECK(again.stages[s].operators == first.stages[s].operators);
  }
}

TEST_CASE("a plan with latent attention comes back, dense layers before those with experts") {
  const plan::Plan first =
      read(kLlama +
               "--multi-latent-attention --qk-layernorm --q-lora-rank 24 --kv-lora-rank 16 "
               "--qk-head-dim 8 --qk-pos-emb-head-dim 4 --v-head-dim 8 --num-experts 8 "
               "--moe-ffn-hidden-size 48 --moe-layer-freq '([0]*3+[1]*5)' "
               "--moe-router-score-function sigmoid --pipeline-model-parallel-size 2 "
               "--pipeline-model-parallel-layout 'Et*5|t*3L' --bf16",
           2)
          .plan;
  CHECK(first.model.name == "deepseek_v3");
  CHECK(first.model.parameters.at("dense_layers") == "3");
  CHECK(first.model.parameters.at("query_rank") == "24");
  CHECK(first.model.parameters.at("scores") == "sigmoid");
  CHECK(layers_of(first) == Counts{5, 3});
  const auto graph = models::build(first.model.name, first.model.parameters);
  const auto& megatron = frameworks::framework_named("megatron");
  const plan::Plan again = read(frameworks::exported(megatron, graph, first, ""), 2).plan;
  CHECK(again.model.parameters == first.model.parameters);
  CHECK(again.stages[0].operators == first.stages[0].operators);
  const std::string latent = kLlama + "--multi-latent-attention ";
  CHECK(refusal(latent).find("the zoo has it with experts") != std::string::npos);
  CHECK(refusal(latent + "--num-experts 8 --moe-layer-freq '([0]*3+[1]*6)'")
            .find("moe_layer_freq: expected 1, or ([0]*D+[1]*E)") != std::string::npos);
}

TEST_CASE(
    "what would be another computation, and what does not divide, is refused by file, line and argument") {
  CHECK(refusal(kModel + "--context-parallel-size 3").find("are not replicas of TP1 x CP3 x PP1") !=
        std::string::npos);
  CHECK(refusal(kModel + "--num-experts 8") ==
        "train.sh:2: num_experts: the zoo's experts are between Llama's attention: RMSNorm, rope and swiglu");
  CHECK(refusal(kLlama + "--num-experts 8 --moe-layer-freq 2").find("expected 1, or ([0]*D+[1]*E)") !=
        std::string::npos);
  CHECK(refusal(kLlama + "--num-experts 8 --expert-model-parallel-size 3") ==
        "train.sh:2: expert_model_parallel_size: 4 replicas are not groups of 3");
  CHECK(refusal(kModel + "--context-parallel-size 1") == "taken");
  CHECK(refusal(kModel + "--swiglu").find("no family of the zoo mixes these") != std::string::npos);
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 3") ==
        "train.sh:2: pipeline_model_parallel_size: 4 devices are not replicas of TP1 x PP3");
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 9")
            .find("-1 layers are not 1 equal shares") != std::string::npos);
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Et|t|t|tL'") ==
        "train.sh:2: pipeline_model_parallel_layout: has 4 layers, the model 8");
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'E(t*4||t*4|L'")
            .find("a bracket is not closed") != std::string::npos);
  CHECK(refusal(kModel + "--tensor-model-parallel-size $TP") ==
        "train.sh:2: tensor_model_parallel_size: expected a whole number from 1 on, found '$TP'");
  CHECK(refusal("--hidden-size 8").starts_with("train.sh: num_layers: is not given"));
  CHECK(refusal(kModel + "--recompute-granularity most") ==
        "train.sh:2: recompute_granularity: expected none or full or selective, found 'most'");
  CHECK(refusal("echo 'never ends").find("a quote is not closed") != std::string::npos);
  CHECK(refusal("").find("is not given") != std::string::npos);
}

TEST_CASE("a vocabulary that the tokenizer knows is given beside") {
  const std::string none =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 "
      "--max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 16";
  CHECK(refusal(none).find("-p vocabulary=N") != std::string::npos);
  const auto run = from_megatron(none, "train.sh", {"8xH100", 4}, 4, {{"vocabulary", "1000"}});
  CHECK(run.plan.model.parameters.at("vocabulary") == "1000");
}
