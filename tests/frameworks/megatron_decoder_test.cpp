// Decoders of Megatron-LM that mix parts of several families.
#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/frameworks/from_megatron.hpp"

using namespace penstock;
using frameworks::from_megatron;

namespace {

const std::string kBase =
    "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 "
    "--vocab-size 512 --make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16 "
    "--untie-embeddings-and-output-weights --attention-dropout 0 --hidden-dropout 0 ";

plan::ModelRef model_of(const std::string& arguments) {
  return from_megatron(arguments, "train.sh", {"8xH100", 1}, 1, {}).plan.model;
}

std::string parameter(const std::string& arguments, const char* name) {
  return model_of(kBase + arguments).parameters.at(name);
}

std::int64_t weights_of(const std::string& arguments) {
  const plan::ModelRef model = model_of(arguments);
  CHECK(model.name == "decoder");
  return models::build(model.name, model.parameters).parameters();
}

std::string refusal(const std::string& arguments) {
  try {
    model_of(kBase + arguments);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("weights of mixed decoders equal a count by hand") {
  // Layer norms of a scale and a bias each; every matrix of attention and feed-forward has a bias.
  constexpr std::int64_t h = 64, v = 512, layers = 8, width = 4 * h;
  constexpr std::int64_t norms = layers * 2 * 2 * h + 2 * h, head = v * h;
  SUBCASE("rotary positions with layer norms and GELU") {
    constexpr std::int64_t layer = 4 * (h * h + h) + 2 * h * width + width + h;
    CHECK(weights_of(kBase + "--position-embedding-type rope") == 2 * head + norms + layers * layer);
  }
  SUBCASE("grouped queries, squared ReLU, no biases (Nemotron-4)") {
    constexpr std::int64_t layer = 2 * h * h + 2 * h * (h / 2) + 2 * h * width;
    CHECK(weights_of(kBase + "--position-embedding-type rope --squared-relu --disable-bias-linear "
                             "--group-query-attention --num-query-groups 2") ==
          2 * head + norms + layers * layer);
  }
  SUBCASE("no positions, RMS norms, GELU") {
    constexpr std::int64_t layer = 4 * (h * h + h) + 2 * h * width + width + h;
    CHECK(weights_of(kBase + "--position-embedding-type none --normalization RMSNorm") ==
          2 * head + norms / 2 + layers * layer);
  }
  SUBCASE("latent attention with layer norms: only its output has a bias") {
    constexpr std::int64_t query = 24, key = 16, own = 8, shared = 4, value = 8, heads = 4;
    constexpr std::int64_t attention = h * query + 2 * query + query * heads * (own + shared) + h * key +
                                       2 * key + h * shared + key * heads * (own + value) +
                                       heads * value * h + h;
    constexpr std::int64_t layer = attention + 2 * h * width + width + h;
    CHECK(weights_of(kBase + "--multi-latent-attention --q-lora-rank 24 --kv-lora-rank 16 --qk-head-dim 8 "
                             "--qk-pos-emb-head-dim 4 --v-head-dim 8 --position-embedding-type rope") ==
          2 * head + norms + layers * layer);
  }
  SUBCASE("every second layer has experts") {
    constexpr std::int64_t attention = 4 * h * h, dense = 3 * h * 128, experts = 8 * (h + 3 * h * 48);
    CHECK(weights_of(kBase + "--position-embedding-type rope --normalization RMSNorm --swiglu "
                             "--disable-bias-linear --ffn-hidden-size 128 --num-experts 8 "
                             "--moe-ffn-hidden-size 48 --moe-layer-freq 2") ==
          2 * head + norms / 2 + layers * attention + 4 * dense + 4 * experts);
  }
}

TEST_CASE("parts of single layers are read") {
  const std::string rotary = "--position-embedding-type rope --normalization RMSNorm --swiglu ";
  CHECK(parameter(rotary + "--window-size '(127,0)'", "mixers") == "window(128)");
  CHECK(parameter(rotary + "--window-size '(127,0)' --window-attn-skip-freq 4", "mixers") ==
        "window(128)*3+full+window(128)*3+full");
  CHECK(parameter(rotary + "--window-size '(127,0)' --window-attn-skip-freq '([1,0]*4)'", "mixers") ==
        "window(128)+full+window(128)+full+window(128)+full+window(128)+full");
  CHECK(parameter(rotary + "--no-rope-freq 4", "mixers") == "full*3+nope+full*3+nope");
  CHECK(parameter(rotary + "--qk-l2-norm", "qk_norm") == "plain");
  CHECK(parameter(rotary + "--qk-layernorm", "qk_norm") == "head");
  CHECK(parameter("--qk-layernorm", "qk_norm") == "layer");
  CHECK(parameter(rotary + "--softmax-type learnable", "sinks") == "yes");
  CHECK(parameter("--kv-channels 32", "head_width") == "32");
  CHECK_FALSE(model_of(kBase + "--no-position-embedding").parameters.contains("learned_positions"));
  CHECK(parameter("--squared-relu", "learned_positions") == "32");
  CHECK(parameter(rotary + "--attention-dropout 0.1", "dropout") == "yes");
  CHECK(parameter("--num-experts 4 --moe-shared-expert-intermediate-size 48", "shared_width") == "48");
}

TEST_CASE("a described decoder is named by its script") {
  CHECK(model_of(kBase + "--squared-relu").label == "decoder of train.sh");
  CHECK(model_of(kBase).label.empty());
}

TEST_CASE("latent attention without experts has the rotary scaling of latent attention") {
  const std::string latent = "--multi-latent-attention --position-embedding-type rope ";
  CHECK(parameter(latent, "rope_scaling").starts_with("yarn:"));
  CHECK_FALSE(model_of(kBase + latent + "--rope-type rope").parameters.contains("rope_scaling"));
}

TEST_CASE("a mixed decoder that is exported is read back") {
  for (const char* arguments :
       {"--position-embedding-type rope", "--squared-relu --group-query-attention --num-query-groups 2",
        "--position-embedding-type rope --normalization RMSNorm --swiglu --window-size '(15,0)' "
        "--window-attn-skip-freq 2 --qk-layernorm --disable-bias-linear",
        "--multi-latent-attention --q-lora-rank 24 --kv-lora-rank 16 --qk-head-dim 8 "
        "--qk-pos-emb-head-dim 4 --v-head-dim 8 --position-embedding-type rope",
        "--position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear "
        "--num-experts 8 --moe-ffn-hidden-size 48 --moe-layer-freq '([0,1]*4)' --softmax-type learnable"}) {
    CAPTURE(arguments);
    const plan::Plan first =
        from_megatron(kBase + arguments + " --bf16", "train.sh", {"8xH100", 1}, 1, {}).plan;
    const auto graph = models::build(first.model.name, first.model.parameters);
    const std::string text = frameworks::exported(frameworks::framework_named("megatron"), graph, first, "");
    const plan::Plan again = from_megatron(text, "again.sh", {"8xH100", 1}, 1, {}).plan;
    CHECK(again.model.name == first.model.name);
    CHECK(again.model.parameters == first.model.parameters);
  }
}

TEST_CASE("a pattern gives each layer one branch, and its bars the stages") {
  const std::string hybrid =
      "--hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 --vocab-size 512 "
      "--make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16 --position-embedding-type none "
      "--untie-embeddings-and-output-weights --disable-bias-linear --mamba-head-dim 16 --mamba-state-dim 8 "
      "--mamba-num-groups 2 --hybrid-layer-pattern ";
  SUBCASE("weights equal a count by hand") {
    constexpr std::int64_t h = 64, v = 512, inner = 128, heads = 8, groups = 2, state = 8, kernel = 4;
    constexpr std::int64_t channels = inner + 2 * groups * state;
    constexpr std::int64_t space =
        h * (inner + channels + heads) + channels * (kernel + 1) + 3 * heads + inner + inner * h;
    CHECK(weights_of(hybrid + "M-M*-") == 2 * v * h + 6 * 2 * h + 2 * space + 4 * h * h + 2 * 2 * h * 4 * h);
  }
  const auto plan = from_megatron("python pretrain_mamba.py " + hybrid +
                                      "'M-M*|-M-|M*-|M-M-' --pipeline-model-parallel-size 2",
                                  "train.sh", {"8xH100", 2}, 2, {})
                        .plan;
  CHECK(plan.schedule == "interleaved_1f1b");
  REQUIRE(plan.stages.size() == 4);
  CHECK(plan.model.parameters.at("mixers") ==
        "state_space+none+state_space+nope+none+state_space+none+"
        "state_space+nope+none+state_space+none+state_space+none");
  const auto refused = [&](const std::string& pattern) -> std::string {
    try {
      from_megatron(hybrid + pattern, "train.sh", {"8xH100", 2}, 2, {});
    } catch (const core::BadInput& fault) {
      return fault.what();
    }
    return "taken";
  };
  CHECK(refused("M-G").find("expected M, *, -, E") != std::string::npos);
  CHECK(refused("'M-||M-'").find("has no layers") != std::string::npos);
  CHECK(refused("M-/M-").find("multi-token prediction") != std::string::npos);
  CHECK(refused("'M-|M-|M-' --pipeline-model-parallel-size 2").find("not equally many") != std::string::npos);
  for (const char* beside : {"--window-size '(15,0)'", "--no-rope-freq 2", "--multi-latent-attention"})
    CHECK(refused(std::string("'M-M*' ") + beside).find("pattern of layers: no plan") != std::string::npos);
  CHECK(refused("M- --num-layers 3").find("the pattern has 2") != std::string::npos);
}

TEST_CASE("parts of mixed decoders that exclude each other are refused") {
  CHECK(refusal("--squared-relu --swiglu").find("has no gate") != std::string::npos);
  CHECK(refusal("--window-size '(127,127)'").find("none after it") != std::string::npos);
  CHECK(refusal("--position-embedding-type none --window-size '(127,0)'").find("no rotary positions") !=
        std::string::npos);
  CHECK(refusal("--position-embedding-type rope --no-rope-freq '[1,0]'").find("has 2 layers, the model 8") !=
        std::string::npos);
  CHECK(refusal("--num-experts 4 --moe-layer-freq '[2]*8'").find("expected 1 for layers with experts") !=
        std::string::npos);
  const std::string growing =
      "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 32 "
      "--max-position-embeddings 32 --vocab-size 512 --micro-batch-size 1 "
      "--step-batch-size-schedule 0:384,200B:768";
  CHECK_THROWS_AS(model_of(growing), core::BadInput);
}
