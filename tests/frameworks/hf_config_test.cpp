#include "penstock/frameworks/hf_config.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "frameworks/writers.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/files.hpp"
#include "support/checkout.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using frameworks::parse_hf_config;

namespace {

std::string config(const std::string& name) {
  return core::read_file(support::checkout("/tests/frameworks/configs/" + name + ".json"));
}

graph::OpGraph built(const std::string& name, std::optional<std::int64_t> tokens = {}) {
  const auto model = parse_hf_config(config(name), name + ".json", tokens).model;
  return models::build(model.name, model.parameters);
}

/// The config with one text in place of another.
std::string changed(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = config(name);
  const auto at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text, std::optional<std::int64_t> tokens = {}) {
  try {
    parse_hf_config(text, "config.json", tokens);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

}  // namespace

// Counted by transformers 5.24 on the meta device, of its configuration classes without arguments.
TEST_CASE("keys left out have the defaults of transformers' configuration classes") {
  struct ConfigCount {
    const char *type, *sizes;
    std::int64_t parameters;
  };
  const char *seven =
                 "\"vocab_size\": 32000, \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
                 "\"num_attention_heads\": 32",
             *qwen =
                 "\"vocab_size\": 151936, \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
                 "\"num_attention_heads\": 32";
  const ConfigCount families[] = {
      {"llama", seven, 6'738'415'616},
      {"mistral", seven, 7'241'732'096},
      {"mixtral", seven, 46'702'792'704},
      {"qwen2", qwen, 12'049'846'272},
      {"qwen3", qwen, 12'049'461'248},
      {"qwen2_moe",
       "\"vocab_size\": 151936, \"hidden_size\": 2048, \"num_hidden_layers\": 24, \"num_attention_heads\": "
       "16",
       14'315'784'192},
      {"qwen3_moe",
       "\"vocab_size\": 151936, \"hidden_size\": 2048, \"num_hidden_layers\": 24, \"num_attention_heads\": "
       "32",
       15'350'731'776},
      {"olmoe",
       "\"vocab_size\": 50304, \"hidden_size\": 2048, \"num_hidden_layers\": 16, \"num_attention_heads\": 16",
       13'361'612'800},
      {"deepseek_v2",
       "\"vocab_size\": 102400, \"hidden_size\": 4096, \"num_hidden_layers\": 32, \"num_attention_heads\": "
       "32, "
       "\"num_experts_per_tok\": 6",
       38'612'307'968},
      {"deepseek_v3",
       "\"vocab_size\": 129280, \"hidden_size\": 7168, \"num_hidden_layers\": 61, \"num_attention_heads\": "
       "128",
       671'026'404'352},
      {"gpt2", "\"vocab_size\": 50257, \"n_embd\": 768, \"n_layer\": 12, \"n_head\": 12", 124'439'808},
      {"gpt_neox",
       "\"vocab_size\": 50432, \"hidden_size\": 6144, \"num_hidden_layers\": 44, \"num_attention_heads\": 64",
       20'554'567'680},
      {"opt",
       "\"vocab_size\": 50272, \"hidden_size\": 768, \"num_hidden_layers\": 12, \"num_attention_heads\": 12",
       125'239'296},
      {"bert",
       "\"vocab_size\": 30522, \"hidden_size\": 768, \"num_hidden_layers\": 12, \"num_attention_heads\": 12",
       109'482'240}};
  for (const ConfigCount& family : families) {
    CAPTURE(family.type);
    const auto text = fmt::format("{{\"model_type\": \"{}\", {}}}", family.type, family.sizes);
    const auto model = parse_hf_config(text, "config.json", 64).model;
    CHECK(models::build(model.name, model.parameters).parameters() == family.parameters);
  }
}

TEST_CASE("keys whose value turns them off are read over, and are refused with another value") {
  const auto with = [](const std::string& name, const std::string& more) {
    return refusal(changed(name, "\"vocab_size\"", more + ", \"vocab_size\""));
  };
  for (const char* off :
       {R"("qkv_bias": false)", R"("shared_expert_intermediate_size": 0)", R"("use_qk_norm": true)",
        R"("residual_multiplier": 1.0)", R"("pruned_heads": {})", R"("new_key": null)"})
    CHECK(with("qwen3_30b_a3b", off) == "taken");
  for (const char* on :
       {R"("qkv_bias": true)", R"("shared_expert_intermediate_size": 768)", R"("use_qk_norm": false)",
        R"("residual_multiplier": 0.5)", R"("new_key": false)", R"("qkv_bias": "false")"})
    CHECK(with("qwen3_30b_a3b", on).find("is not known of qwen3_moe") != std::string::npos);
  CHECK(with("llama3_8b", R"("use_qk_norm": false)") == "taken");
  CHECK(with("llama3_8b", R"("use_qk_norm": true)").find("is not known of llama") != std::string::npos);
  // Families with biases are not without them.
  CHECK(with("qwen25_7b", R"("qkv_bias": false)").find("is not known of qwen2") != std::string::npos);
  CHECK(with("gpt2", R"("use_bias": false)").find("is not known of gpt2") != std::string::npos);
  const std::string file = support::reference_data("trials/config_keys/off_by_value.json");
  if (file.empty()) return;
  const auto model = parse_hf_config(core::read_file(file), file, 64).model;
  CHECK(models::build(model.name, model.parameters).parameters() == 30'532'122'624);
}

TEST_CASE("a checkpoint in fewer bits is the same model, with a note") {
  const auto read = [](const std::string& name, const std::string& more) {
    return parse_hf_config(changed(name, "\"vocab_size\"", more + "\"vocab_size\""), "config.json", 64);
  };
  const std::string fp8 = R"("quantization_config": {"quant_method": "fp8", "fmt": "e4m3"}, )";
  for (const char* name : {"qwen3_30b_a3b", "llama3_8b", "gpt2"}) {
    const auto stored = read(name, fp8), plain = read(name, "");
    CHECK(stored.model.parameters == plain.model.parameters);
    CHECK(plain.notes.empty());
    REQUIRE(stored.notes.size() == 1);
    CHECK(
        stored.notes.front().starts_with("the checkpoint is stored in fp8 (quantization_config); training is "
                                         "planned in "));
  }
  CHECK(read("llama3_8b", fp8).notes.front().ends_with("planned in mixed_bf16"));
  CHECK(read("gpt2", fp8).notes.front().ends_with("the precision that --precision states"));
  const auto third = parse_hf_config(config("deepseek_v3"), "config.json", 64);
  CHECK(third.notes.size() == 1);
  CHECK(refusal(changed("llama3_8b", "\"vocab_size\"", "\"quantization_config\": 8, \"vocab_size\""))
            .find("quantization_config: expected a mapping") != std::string::npos);
  const std::string file = support::reference_data("trials/config_keys/stored_in_fp8.json");
  if (file.empty()) return;
  const auto model = parse_hf_config(core::read_file(file), file, 64);
  CHECK(models::build(model.model.name, model.model.parameters).parameters() == 30'532'122'624);
  CHECK(model.notes.front() ==
        "the checkpoint is stored in fp8 (quantization_config); training is planned in mixed_bf16");
}

TEST_CASE("null is another value than a key left out") {
  const auto read = [](const std::string& type, const std::string& more) {
    return parse_hf_config(
               "{\"model_type\": \"" + type +
                   "\", \"vocab_size\": 64, \"hidden_size\": 64, \"num_hidden_layers\": 4, "
                   "\"num_attention_heads\": 16, \"num_experts_per_tok\": 2, \"n_routed_experts\": 8" +
                   more + "}",
               "config.json", 32)
        .model.parameters;
  };
  const auto decoder = [](const std::string& type, const std::string& more) {
    return parse_hf_config("{\"model_type\": \"" + type +
                               "\", \"vocab_size\": 64, \"hidden_size\": 64, \"num_hidden_layers\": 4, "
                               "\"num_attention_heads\": 16" +
                               more + "}",
                           "config.json", 32)
        .model.parameters;
  };
  CHECK(decoder("mistral", "").at("kv_heads") == "8");
  CHECK(decoder("mistral", ", \"num_key_value_heads\": null").at("kv_heads") == "16");
  CHECK(decoder("mixtral", "").at("kv_heads") == "8");
  CHECK(decoder("qwen3_moe", "").at("kv_heads") == "4");
  CHECK(decoder("llama", "").at("kv_heads") == "16");
  CHECK(read("deepseek_v3", "").at("query_rank") == "1536");
  CHECK(read("deepseek_v3", ", \"q_lora_rank\": null").at("query_rank") == "0");
  CHECK(read("deepseek_v3", "").at("shared_width") == "2048");
  CHECK(read("deepseek_v3", ", \"n_shared_experts\": null").at("shared_width") == "0");
  CHECK(read("deepseek_v3", "").at("dense_layers") == "3");
  CHECK(read("deepseek_v3", ", \"first_k_dense_replace\": 1").at("dense_layers") == "1");
  CHECK(read("deepseek_v2", "").at("dense_layers") == "0");
  // Qwen's class has 32 groups, whatever the heads are.
  const std::string qwen =
      "{\"model_type\": \"qwen2\", \"vocab_size\": 64, \"hidden_size\": 64, \"num_hidden_layers\": 4, "
      "\"num_attention_heads\": 28}";
  CHECK(refusal(qwen).find("num_key_value_heads is left out: 32 do not divide 28 attention heads") !=
        std::string::npos);
}

TEST_CASE("Mistral's window is 4,096 tokens where it is left out, and none where it is null") {
  const std::string mistral =
      "{\"model_type\": \"mistral\", \"vocab_size\": 64, \"hidden_size\": 64, \"num_hidden_layers\": 1, "
      "\"num_attention_heads\": 8";
  const auto window = [&](const std::string& rest, std::int64_t tokens) {
    const auto read = parse_hf_config(mistral + rest + "}", "f", tokens).model.parameters;
    const auto found = read.find("window");
    return found == read.end() ? "none" : found->second;
  };
  CHECK(window("", 4096) == "none");
  CHECK(window("", 4097) == "4096");
  CHECK(window(", \"sliding_window\": 512", 4096) == "512");
  CHECK(window(", \"sliding_window\": null", 8192) == "none");
}

TEST_CASE("keys that transformers 5 adds change nothing") {
  CHECK(
      refusal(
          "{\"model_type\": \"gpt_neox\", \"vocab_size\": 64, \"hidden_size\": 64, \"num_hidden_layers\": 1, "
          "\"num_attention_heads\": 8, \"is_decoder\": false}") == "taken");
  for (const char* name : {"\"\"", "null"})  // a config that was made, not loaded
    CHECK(
        refusal(
            "{\"model_type\": \"llama\", \"vocab_size\": 64, \"hidden_size\": 64, \"num_hidden_layers\": 1, "
            "\"num_attention_heads\": 8, \"_name_or_path\": " +
            std::string(name) + "}") == "taken");
  const std::string second =
      "{\"model_type\": \"deepseek_v2\", \"vocab_size\": 64, \"hidden_size\": 64, \"num_hidden_layers\": 1, "
      "\"num_attention_heads\": 8, \"num_experts_per_tok\": 2, \"mlp_bias\": ";
  CHECK(refusal(second + "false}") == "taken");
  CHECK(refusal(second + "true}").find("mlp_bias: expected false") != std::string::npos);
}

TEST_CASE("a config has as many parameters as its checkpoint") {
  const std::pair<const char*, std::int64_t> published[] = {{"llama3_8b", 8'030'261'248},
                                                            {"llama2_7b", 6'738'415'616},
                                                            {"qwen25_7b", 7'615'616'512},
                                                            {"qwen3_0.6b", 596'049'920},
                                                            {"qwen3_8b", 8'190'735'360},
                                                            {"qwen3_32b", 32'762'123'264},
                                                            {"gpt2", 124'439'808},
                                                            {"gpt_neox_20b", 20'554'567'680},
                                                            {"opt_125m", 125'239'296},
                                                            {"bert_base", 109'482'240},
                                                            {"vit_base", 86'567'656},
                                                            {"mixtral_8x7b", 46'702'792'704},
                                                            {"qwen3_30b_a3b", 30'532'122'624},
                                                            {"qwen15_moe_a27b", 14'315'784'192},
                                                            {"olmoe_1b_7b", 6'919'161'856},
                                                            {"deepseek_v2_lite", 15'706'484'224},
                                                            {"deepseek_v3", 671'026'404'352},
                                                            {"llava15_7b", 7'063'427'072}};
  for (const auto& [name, parameters] : published) {
    CAPTURE(name);
    CHECK(built(name).parameters() == parameters);
  }
  CHECK(built("mistral_7b", 4096).parameters() == 7'241'732'096);
}

TEST_CASE("sizes of the zoo are those of the configs") {
  const std::pair<const char*, const char*> same[] = {{"llama3_8b", "llama3-8b"},
                                                      {"llama2_7b", "llama2-7b"},
                                                      {"qwen25_7b", "qwen2.5-7b"},
                                                      {"qwen3_8b", "qwen3-8b"}};
  const auto compare = [](const char* name, const char* family, const char* size) {
    CAPTURE(name);
    const auto mine = built(name, 4096),
               zoo = models::build(family, {{"size", size}, {"sequence", "4096"}, {"loss", "yes"}});
    CHECK(mine.parameters() == zoo.parameters());
    CHECK(mine.forward_flops() == zoo.forward_flops());
  };
  for (const auto& [name, size] : same) compare(name, "llama", size);
  compare("mixtral_8x7b", "mixtral", "mixtral-8x7b");
  compare("qwen3_30b_a3b", "mixtral", "qwen3-30b-a3b");
  compare("qwen15_moe_a27b", "mixtral", "qwen1.5-moe-a2.7b");
  compare("olmoe_1b_7b", "mixtral", "olmoe-1b-7b");
  compare("deepseek_v3", "deepseek_v3", "deepseek-v3");
  compare("deepseek_v2_lite", "deepseek_v3", "deepseek-v2-lite");
}

TEST_CASE("a head's width of its own: FLOPs by hand") {
  // Qwen3-0.6B, one token: projections 1024 x (2048 + 2 x 1024) and 2048 x 1024, feed-forward 3 x 1024 x
  // 3072, each multiply-add twice, and 4 x 2048 for the one key. There are 28 layers, and the head 1024 x
  // 151,936.
  const double layer = 2.0 * (1024 * 4096 + 2048 * 1024 + 3 * 1024 * 3072) + 4 * 2048;
  double products = 0;
  const auto model = built("qwen3_0.6b", 1);
  for (const auto& op : model.operators())
    if (op.kind == graph::OpKind::linear || op.kind == graph::OpKind::attention)
      products += op.forward_flops.value();
  CHECK(products == 28 * layer + 2.0 * 1024 * 151'936);
}

TEST_CASE("tokens of a sample do not change the table of positions") {
  CHECK(built("gpt2", 128).parameters() == 124'439'808);
  CHECK(built("opt_125m", 128).parameters() == 125'239'296);
  CHECK(parse_hf_config(config("llama3_8b"), "f").model.parameters.at("sequence") == "8192");
  CHECK(parse_hf_config(config("llama3_8b"), "f", 512).model.parameters.at("sequence") == "512");
}

TEST_CASE("a config keeps what no operator depends on, where it is not the family's default") {
  const auto stated = [](const std::string& text) {
    return parse_hf_config(text, "c.json", 64).model.parameters;
  };
  const auto qwen = stated(config("qwen3_32b"));
  CHECK(qwen.at("rope_base") == "1000000");
  CHECK(qwen.at("norm_epsilon") == "1e-06");
  CHECK(qwen.at("positions") == "40960");
  CHECK_FALSE(qwen.contains("rope_scaling"));
  CHECK_FALSE(qwen.contains("init_std"));
  CHECK(parse_hf_config(config("qwen3_32b"), "c.json").precision == "mixed_bf16");
  const auto typed = [](const std::string& type) {
    std::string text = config("qwen3_32b");
    return text.replace(text.find("bfloat16"), std::string("bfloat16").size(), type);
  };
  CHECK(parse_hf_config(typed("auto"), "c.json").precision.empty());
  CHECK_THROWS_WITH_AS(parse_hf_config(typed("float8_e4m3fn"), "c.json"),
                       doctest::Contains("'float8_e4m3fn' is no type that training keeps weights in"),
                       core::BadInput);
  const auto scaled =
      stated(changed("llama3_8b", "\"rope_scaling\": null",
                     R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0})"));
  CHECK(scaled.at("rope_scaling") == "llama3:factor=8:low_freq_factor=1");
  const auto fifth = stated(changed("qwen3_32b", "\"rope_scaling\": null,\n  \"rope_theta\": 1000000",
                                    R"("rope_parameters": {"rope_type": "default", "rope_theta": 5000})"));
  CHECK(fifth.at("rope_base") == "5000");
  CHECK(refusal(changed("llama3_8b", "\"rope_scaling\": null",
                        R"("rope_scaling": {"rope_type": "longrope", "long_factor": [1, 2]})"))
            .find("rope_scaling: expected a type and one number or more") != std::string::npos);
  CHECK(stated(config("qwen15_moe_a27b")).at("router_normalised") == "no");
  CHECK_FALSE(stated(config("deepseek_v3")).contains("router_groups"));  // V3's are the defaults
  CHECK(stated(config("deepseek_v2_lite")).at("router_bias") == "no");
}

TEST_CASE("the number of experts has two names") {
  const char* own = "\"num_experts\": 128";
  const auto experts = [](const std::string& text) {
    return parse_hf_config(text, "config.json", 64).model.parameters.at("experts");
  };
  CHECK(experts(config("qwen3_30b_a3b")) == "128");
  CHECK(experts(changed("qwen3_30b_a3b", own, "\"num_local_experts\": 96")) == "96");  // by transformers 5
  CHECK(experts(changed("qwen3_30b_a3b", own, "\"num_experts\": 128, \"num_local_experts\": 128")) == "128");
  CHECK(refusal(changed("qwen3_30b_a3b", own, "\"num_experts\": 128, \"num_local_experts\": 96"))
            .find("num_local_experts: expected 128, as num_experts says") != std::string::npos);
}

TEST_CASE("a key that would make another network is refused by file, line and key") {
  CHECK(
      refusal(changed("mixtral_8x7b", "\"mixtral\"", "\"dbrx\"")) ==
      "config.json:13: model_type: 'dbrx' routes tokens to experts otherwise than the zoo's families do; "
      "the nearest type that is read is mixtral; `penstock import hf --through torch` reads more by transformers");
  CHECK(refusal(changed("qwen3_30b_a3b", "\"mlp_only_layers\": []", "\"mlp_only_layers\": [0]"))
            .find("mlp_only_layers: expected none: the zoo's layers all have experts") != std::string::npos);
  CHECK(refusal(changed("deepseek_v3", "\"sigmoid\"", "\"softmax\""))
            .find("scoring_func: 'softmax' is not computed by the zoo; known: sigmoid") != std::string::npos);
  CHECK(refusal(changed("llama3_8b", "\"llama\"", "\"lama\""))
            .find("'lama' is no architecture that the zoo computes; did you mean 'llama'?") !=
        std::string::npos);
  CHECK(refusal(changed("llama3_8b", "LlamaForCausalLM", "LlamaForSequenceClassification"))
            .find("known: LlamaForCausalLM") != std::string::npos);
  CHECK(refusal(changed("llama3_8b", "silu", "gelu")) ==
        "config.json:7: hidden_act: 'gelu' is not computed by the zoo; known: silu, swish");
  CHECK(refusal(changed("llama3_8b", "\"attention_bias\": false", "\"attention_bias\": true")) ==
        "config.json:3: attention_bias: expected false: the zoo's attention has no bias at its output");
  CHECK(refusal(changed("gpt2", "\"n_head\": 12", "\"n_head\": 0")) ==
        "config.json:11: n_head: expected a whole number from 1 to 2147483647, found '0'");
  CHECK(refusal(changed("gpt2", "  \"n_head\": 12,\n", "")).find("the key 'n_head' is missing") !=
        std::string::npos);
  CHECK(refusal(changed("opt_125m", "dim\": 768", "dim\": 512")) ==
        "config.json:13: word_embed_proj_dim: expected 768: the zoo's embeddings are not projected");
  CHECK(refusal(changed("bert_base", "gelu", "silu")).find("known: gelu") != std::string::npos);
}

TEST_CASE("an unknown key is refused, with the nearest known one") {
  CHECK(refusal(changed("llama3_8b", "num_key_value_heads", "num_key_value_head")) ==
        "config.json:15: num_key_value_head: is not known of llama (did you mean 'num_key_value_heads'?): it "
        "may change "
        "what is computed; leave it out where it does not");
  CHECK(refusal(changed("gpt2", "\"n_ctx\"", "\"n_ctx_more\"")).find("is not known of gpt2:") !=
        std::string::npos);
}

TEST_CASE("a window of attention is a model's where samples do not fit in it") {
  const auto read = [](std::int64_t tokens) {
    return parse_hf_config(config("mistral_7b"), "f", tokens).model.parameters;
  };
  CHECK(read(32768).at("window") == "4096");
  CHECK_FALSE(read(4096).contains("window"));

  CHECK(refusal(config("gpt2"), 1025) ==
        "config.json:13: n_positions: the model knows 1024 positions, fewer than 1025 tokens");
}

TEST_CASE("a task's head that the zoo lacks has a note") {
  const auto bert = parse_hf_config(config("bert_base"), "f");
  REQUIRE(bert.notes.size() == 1);
  CHECK(bert.notes.front() ==
        "BertForMaskedLM is taken as BertModel: the encoder and its pooler, without a task's head");
  CHECK(parse_hf_config(config("gpt2"), "f").notes.empty());
}

TEST_CASE("LLaVA's keys left out are those of its parts, and its image's tokens are of the sample") {
  // 336 / 14 = 24 patches a side, 576 tokens: of 2048, 1472 are left for text, the default of the zoo's vlm.
  const auto model = built("llava15_7b", 2048), zoo = models::build("vlm", {{"loss", "yes"}});
  CHECK(model.parameters() == zoo.parameters());
  CHECK(model.forward_flops() == zoo.forward_flops());
  const auto whole = parse_hf_config(config("llava15_7b"), "f");
  CHECK(whole.model.parameters.at("text") == "3520");  // of 4096 positions
  REQUIRE(whole.notes.size() == 1);
  CHECK(whole.notes.front().starts_with("the vision tower runs to its end"));
}

TEST_CASE("LLaVA on Mistral: fewer heads of keys, wider feed-forward") {
  // Beside LLaVA on Llama, each of 32 layers has 3 x 4096 x (14,336 - 11,008) = 40,894,464 more in its
  // feed-forward. It has 2 x 4096 x (32 - 8) x 128 = 25,165,824 fewer in keys and values.
  CHECK(built("bakllava", 2048).parameters() == 7'063'427'072 + 32 * (40'894'464 - 25'165'824));
  CHECK(refusal(config("bakllava")).find("sliding_window: attention sees 4096 tokens of 32768") !=
        std::string::npos);
  // Mistral's window is 4096 where the key is left out, none where it is null.
  CHECK(refusal(changed("bakllava", "    \"sliding_window\": 4096,\n", ""))
            .find("sliding_window is left out") != std::string::npos);
  CHECK(refusal(changed("bakllava", "\"sliding_window\": 4096", "\"sliding_window\": null")) == "taken");
}

TEST_CASE("towers, projectors and decoders that vlm does not state are refused by key") {
  const auto refused = [](const char* from, const char* to, const std::string& why,
                          std::optional<std::int64_t> tokens = {}) {
    const std::string found = refusal(changed("llava15_7b", from, to), tokens);
    CAPTURE(found);
    CHECK(found.find(why) != std::string::npos);
  };
  refused("clip_vision_model", "siglip_vision_model", "model_type: expected clip_vision_model");
  refused("\"patch_size\": 14", "\"patch_size\": 28", "image_seq_length: expected 144");
  refused("\"gelu\"", "\"silu\"", "projector_hidden_act: 'silu' is not computed");
  refused("\"default\"", "\"full\"", "vision_feature_select_strategy: 'full' is not computed");
  refused("\"vision_feature_layer\": -2", "\"vision_feature_layer\": -5",
          "expected -1 or -2: the zoo's tower");
  refused("\"vision_feature_layer\": -2", "\"vision_feature_layer\": [-2, -5]", "reads one layer");
  refused("\"ignore_index\": -100", "\"multimodal_projector_bias\": false", "the zoo's projector has biases");
  refused("\"model_type\": \"llama\"", "\"model_type\": \"qwen2\"", "'qwen2' is not computed by the zoo");
  refused("\"rms_norm_eps\": 1e-05", "\"head_dim\": 64", "head_dim: expected 128");
  refused("\"rms_norm_eps\": 1e-05", "\"attention_bias\": true", "attention_bias: expected false");
  refused("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true", "weights of its own");
  refused("\"projection_dim\"", "\"projection_dims\"", "is not known of clip_vision_model");
  refused("llava", "llava", "an image becomes 576 tokens: of 576, none is left for text", 576);
}

TEST_CASE("a model that joins images and text in another way is refused by name") {
  const auto why = [](const std::string& type) { return refusal("{\"model_type\": \"" + type + "\"}"); };
  CHECK(why("clip").find("is not the zoo's clip, which is GraphPipe's") != std::string::npos);
  CHECK(why("clip_vision_model").find("as vision_config of llava") != std::string::npos);
  CHECK(why("siglip").find("has no class token") != std::string::npos);
  CHECK(why("qwen2_vl").find("turns positions along three axes") != std::string::npos);
  CHECK(why("llava_next").find("otherwise than LLaVA-1.5") != std::string::npos);
}

TEST_CASE("configs are distinguished from our own files") {
  CHECK(frameworks::is_hf_config(config("gpt2")));
  CHECK_FALSE(frameworks::is_hf_config("{\"penstock\": \"model\", \"model_type\": 1}"));
  CHECK_FALSE(frameworks::is_hf_config("{}"));
  CHECK(refusal("[1, 2]").find("expected a mapping") != std::string::npos);
  CHECK(refusal("{").find("not valid YAML") != std::string::npos);
}

namespace {

using Given = std::map<std::string, std::string>;

/// Parameters of the model that the smallest config of an architecture means: `sizes` and the rest left out.
Given read_sparse(const std::string& type, const std::string& sizes,
                  std::optional<std::int64_t> tokens = {}) {
  return parse_hf_config("{\"model_type\": \"" + type + "\", " + sizes + "}", "c.json", tokens)
      .model.parameters;
}

const std::string kSizes =
    R"("vocab_size": 1000, "hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4)";

}  // namespace

// Defaults of transformers' configuration classes, which configs need not repeat.
TEST_CASE("positions that a config leaves out are its class's") {
  const std::string dense = kSizes + R"(, "intermediate_size": 200, "num_key_value_heads": 4)";
  CHECK(read_sparse("llama", dense).at("sequence") == "2048");
  CHECK(read_sparse("mistral", dense + R"(, "sliding_window": null)").at("sequence") == "131072");
  CHECK(read_sparse("qwen2", dense).at("sequence") == "32768");
  CHECK(read_sparse("qwen3", dense).at("sequence") == "32768");
  CHECK(read_sparse("mixtral", dense).at("sequence") == "131072");
  CHECK(read_sparse("olmoe", dense).at("sequence") == "4096");
  CHECK(read_sparse("gpt_neox", kSizes + R"(, "intermediate_size": 200)").at("sequence") == "2048");
  const std::string latent =
      kSizes +
      R"(, "intermediate_size": 200, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
         "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24)";
  CHECK(read_sparse("deepseek_v3", latent).at("sequence") == "4096");
  CHECK(read_sparse("deepseek_v2", latent).at("sequence") == "4096");
}

TEST_CASE("widths that a config leaves out are its class's") {
  const std::string dense = kSizes + R"(, "intermediate_size": 200)",
                    grouped = dense + R"(, "num_key_value_heads": 4)";
  // Qwen3's heads are 128 wide whatever its width is; others' heads fill it.
  CHECK(read_sparse("qwen3", grouped).at("head_width") == "128");
  for (const char* type : {"llama", "mistral", "qwen2", "mixtral", "olmoe"}) {
    CAPTURE(type);
    CHECK_FALSE(read_sparse(type, grouped, 64).contains("head_width"));
  }
  for (const char* type : {"llama", "olmoe"}) CHECK(read_sparse(type, dense).at("kv_heads") == "4");
  const Given mixtral = read_sparse("mixtral", grouped), olmoe = read_sparse("olmoe", dense);
  CHECK(mixtral.at("experts") == "8");
  CHECK(mixtral.at("chosen") == "2");
  CHECK(olmoe.at("experts") == "64");
  CHECK(olmoe.at("chosen") == "8");
  const std::string gpt2 =
      R"("vocab_size": 1000, "n_embd": 96, "n_layer": 2, "n_head": 4, "n_positions": 64)";
  CHECK(read_sparse("gpt2", gpt2).at("feed_forward") == "384");
  CHECK(read_sparse("gpt2", gpt2 + R"(, "n_inner": 100)").at("feed_forward") == "100");
  CHECK(read_sparse("gpt2", gpt2).at("tied_head") == "yes");
  CHECK_FALSE(read_sparse("gpt2", gpt2).contains("attention_dropout"));  // the zoo's gpt has 0.1 too
  CHECK(read_sparse("gpt2", gpt2 + R"(, "attn_pdrop": 0.0, "resid_pdrop": 0.0)").at("attention_dropout") ==
        "0");
  CHECK(read_sparse("gpt_neox", dense).at("parallel") == "yes");
  CHECK(read_sparse("gpt_neox", dense).at("tied_head") == "no");
  CHECK(read_sparse("llama", dense).at("tied_head") == "no");
}

TEST_CASE("a ViT's images, patches and classes left out: 224, 16, as many as labels or two") {
  const std::string vit =
      R"("hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 200)";
  const Given usual = read_sparse("vit", vit);
  CHECK(usual.at("resolution") == "224");
  CHECK(usual.at("patch") == "16");
  CHECK(usual.at("classes") == "2");
  CHECK(read_sparse("vit", vit + R"(, "id2label": {"0": "a", "1": "b", "2": "c"})").at("classes") == "3");
}

TEST_CASE("a sample has as many tokens as the config has positions, up to its limit") {
  const auto sequence = [](std::int64_t at_most) {
    const std::string text = "{\"model_type\": \"llama\", " + kSizes +
                             R"(, "intermediate_size": 200, "max_position_embeddings": 512})";
    return parse_hf_config(text, "c.json", frameworks::SampleTokens{{}, at_most})
        .model.parameters.at("sequence");
  };
  CHECK(sequence(4096) == "512");
  CHECK(sequence(512) == "512");
  CHECK(sequence(100) == "100");
}

TEST_CASE("LLaVA's tower and text left out: CLIP's and Llama's, or Mistral's with eight heads of keys") {
  const auto read_llava = [](const std::string& text) {
    return parse_hf_config(
               R"({"model_type": "llava", "vision_config": {"model_type": "clip_vision_model"}, "text_config": )" +
                   text + "}",
               "c.json", 1024)
        .model.parameters;
  };
  const Given llama = read_llava(R"({"model_type": "llama"})"),
              mistral = read_llava(R"({"model_type": "mistral"})");
  const std::pair<const char*, const char*> tower[] = {
      {"vision_hidden", "768"}, {"vision_layers", "12"},
      {"vision_heads", "12"},   {"vision_feed_forward", "3072"},
      {"resolution", "224"},    {"patch", "32"},
      {"layers", "32"},         {"hidden", "4096"},
      {"heads", "32"},          {"vocabulary", "32000"},
      {"text", "975"}};  // 49 patches of 1024 tokens
  for (const auto& [key, value] : tower) {
    CAPTURE(key);
    CHECK(llama.at(key) == value);
    CHECK(mistral.at(key) == value);
  }
  CHECK(llama.at("kv_heads") == "32");
  CHECK(llama.at("feed_forward") == "11008");
  CHECK(mistral.at("kv_heads") == "8");
  CHECK(mistral.at("feed_forward") == "14336");
}

TEST_CASE("an OPT without a dropout key drops a tenth of its layers' outputs") {
  const std::string opt =
      R"("vocab_size": 1000, "hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 200,
         "max_position_embeddings": 64)";
  const Given usual = read_sparse("opt", opt), none = read_sparse("opt", opt + R"(, "dropout": 0.0)");
  const auto dropout = [](const Given& parameters) {
    const auto found = parameters.find("hidden_dropout");
    return found == parameters.end() ? "the zoo's" : found->second;
  };
  CHECK(dropout(usual) == "the zoo's");  // 0.1
  CHECK(usual.at("tied_head") == "yes");
  CHECK(read_sparse("opt", opt + R"(, "tie_word_embeddings": false)").at("tied_head") == "no");
  CHECK(dropout(none) == "0");
}

TEST_CASE(
    "what a DeepSeek says nothing of is its class's: groups of experts, scale and norm of their shares") {
  const std::string latent =
      kSizes +
      R"(, "intermediate_size": 200, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
         "v_head_dim": 16, "n_routed_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 24)";
  const auto all = [&](const std::string& type) {
    return frameworks::all_parameters({"deepseek_v3", read_sparse(type, latent)});
  };
  const auto third = all("deepseek_v3"), second = all("deepseek_v2");
  CHECK(third.at("router_groups") == "8");
  CHECK(third.at("router_groups_chosen") == "4");
  CHECK(third.at("router_scale") == "2.5");
  CHECK(third.at("router_normalised") == "yes");
  CHECK(third.at("balance_over") == "sample");
  CHECK(second.at("router_groups") == "1");
  CHECK(second.at("router_scale") == "1");
  CHECK(second.at("router_normalised") == "no");
  CHECK(second.at("balance_over") == "sample");
}
