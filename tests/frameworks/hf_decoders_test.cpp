// The table of decoders against what transformers 5.24 counts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "penstock/graph/attributes.hpp"
#include "support/checkout.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using frameworks::parse_hf_config;

namespace {

constexpr std::int64_t kTokens = 128;

graph::OpGraph built(const std::string& text) {
  const auto model = parse_hf_config(text, "config.json", kTokens).model;
  return models::build(model.name, model.parameters);
}

std::string refusal(const std::string& text) {
  try {
    built(text);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "accepted";
}

/// Parameter of the model that a config of this type with these keys becomes.
std::string parameter(const std::string& type, const std::string& keys, const std::string& name) {
  const auto text = fmt::format("{{\"model_type\": \"{}\"{}{}}}", type, keys.empty() ? "" : ", ", keys);
  return parse_hf_config(text, "config.json", kTokens).model.parameters.at(name);
}

/// True if torch computes a scan by other products than its kernel: tests/models/hybrid_mixers_test.cpp counts
/// these.
bool has_state_space(const graph::OpGraph& g) {
  return std::ranges::any_of(g.operators(), [](const auto& op) {
    return op.kind == graph::OpKind::scan && graph::as<graph::LinearScan>(op).form != graph::ScanForm::delta;
  });
}

/// FLOPs of products, attention, delta nets and convolutions, as torch's FlopCounterMode counts them: grouped
/// products of experts are zero there.
double counted_flops(const graph::OpGraph& g, bool experts) {
  double sum = 0;
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::linear || op.kind == graph::OpKind::matmul ||
        op.kind == graph::OpKind::attention || op.kind == graph::OpKind::scan ||
        op.kind == graph::OpKind::short_convolution || (experts && op.kind == graph::OpKind::experts))
      sum += op.forward_flops.value();
  return sum;
}

struct TruthRow {
  std::string type;
  std::int64_t parameters = 0;
  double flops = 0;  ///< 0: not counted
  bool grouped = false;
};

std::vector<TruthRow> truth(const std::string& path) {
  std::istringstream lines(core::read_file(path));
  std::vector<TruthRow> out;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    TruthRow row;
    std::string cell;
    std::getline(cells, row.type, ',');
    std::getline(cells, cell, ',');
    std::getline(cells, cell, ',');
    row.parameters = std::stoll(cell);
    std::getline(cells, cell, ',');
    if (!cell.empty()) row.flops = std::stod(cell);
    std::getline(cells, cell, ',');
    row.grouped = cell == "yes";
    out.push_back(row);
  }
  return out;
}

}  // namespace

// Counted by transformers 5.24 on the meta device, of its configuration classes without arguments.
TEST_CASE("a config of nothing but its type is transformers' default model") {
  const std::pair<const char*, std::int64_t> counts[] = {
      {"exaone", 7'818'448'896},
      {"internlm3", 8'804'241'408},
      {"iquestcoder", 39'794'283'520},
      {"apertus", 6'979'596'352},
      {"apertus1p5_text", 8'091'086'912},
      {"arcee", 4'022'766'080},
      {"cwm", 32'581'097'472},
      {"ernie4_5", 360'748'032},
      {"granite", 6'738'415'616},
      {"granite_swa", 2'144'463'840},
      {"helium", 2'172'643'840},
      {"hyperclovax", 6'738'677'760},
      {"jais2", 8'090'401'280},
      {"ministral3", 8'489'553'920},
      {"phi3", 3'821'079'552},
      {"seed_oss", 28'921'040'896},
      {"smollm3", 3'075'098'624},
      {"stablelm", 2'795'443'200},
      {"starcoder2", 3'030'371'328},
      {"cohere", 34'980'831'232},
      {"cohere2", 34'980'831'232},
      {"exaone4", 9'429'069'824},
      {"gemma", 8'537'680'896},
      {"gemma2", 2'614'341'888},
      {"gemma3_text", 2'628'658'432},
      {"glm", 9'399'951'360},
      {"glm4", 9'400'279'040},
      {"nanochat", 256'573'440},
      {"olmo", 6'888'095'744},
      {"olmo2", 6'888'624'128},
      {"olmo3", 6'888'624'128},
      {"vaultgemma", 2'614'222'080},
      {"biogpt", 346'763'264},
      {"bloom", 16'156'544},
      {"codegen", 6'050'882'784},
      {"falcon", 6'921'720'704},
      {"gpt_bigcode", 111'446'784},
      {"gpt_neo", 1'315'575'808},
      {"gptj", 6'050'882'784},
      {"mpt", 1'311'213'568},
      {"openai-gpt", 116'534'784},
      {"persimmon", 9'397'175'296},
      {"phi", 1'418'270'720},
      {"xglm", 564'463'616},
      {"aria_text", 18'517'069'824},
      {"cohere2_moe", 190'004'928'512},
      {"ernie4_5_moe", 21'825'437'888},
      {"exaone_moe", 28'550'639'616},
      {"flex_olmo", 33'270'665'216},
      {"glm4_moe", 103'481'200'640},
      {"gpt_oss", 116'829'156'672},
      {"granitemoe", 37'039'116'288},
      {"granitemoeshared", 37'039'116'288},
      {"granitemoe_swa", 37'039'117'312},
      {"hy_v3", 295'033'528'320},
      {"kolibri1", 78'103'055'360},
      {"llama4_text", 107'769'861'120},
      {"mellum", 12'149'923'072},
      {"mimo_v2_flash", 308'778'768'832},
      {"minimax_m2", 228'689'748'992},
      {"phimoe", 41'872'793'600},
      {"sarvam_moe", 32'152'648'064},
      {"solar_open", 102'651'793'408},
      {"glm4_moe_lite", 29'943'390'976},
      {"minicpm3", 4'073'875'968},
      {"sarvam_mla", 106'031'763'456},
      {"youtu", 1'961'560'064},
      {"mamba", 159'308'544},
      {"falcon_mamba", 159'308'544},
      {"mamba2", 7'285'403'648},
      {"bamba", 9'992'765'440},
      {"granitemoehybrid", 38'601'064'448},
      {"jamba", 51'570'323'328},
      {"nemotron_h", 1'968'355'712},
      {"lfm2", 2'705'497'600},
      {"olmo_hybrid", 7'430'870'688},
  };
  for (const auto& [type, parameters] : counts) {
    CAPTURE(type);
    CHECK(built(fmt::format("{{\"model_type\": \"{}\"}}", type)).parameters() == parameters);
  }
}

// Counted by transformers 5.24 on the meta device.
TEST_CASE("small hybrid decoders have the parameters of transformers' classes") {
  const std::string ends = R"("vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4)",
                    both = ends + R"(, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "intermediate_size": 96)";
  const auto count = [](const char* type, const std::string& common, const char* keys) {
    return built(fmt::format("{{\"model_type\": \"{}\", {}, {}}}", type, common, keys)).parameters();
  };
  CHECK(count("bamba", both, R"("mamba_n_heads": 8, "mamba_n_groups": 2, "mamba_d_state": 6,
              "attn_layer_indices": [1, 3], "mamba_proj_bias": true, "attention_bias": true,
              "mlp_bias": true)") == 168'864);
  CHECK(count("bamba", both, R"("mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_conv": 2,
              "mamba_conv_bias": false, "mamba_d_state": 6)") == 192'256);
  CHECK(count("granitemoehybrid", both, R"("mamba_n_heads": 8, "mamba_d_state": 6, "num_local_experts": 4,
              "layer_types": ["mamba", "attention", "mamba", "mamba"], "shared_intermediate_size": 40,
              "mamba_proj_bias": true)") == 433'464);
  CHECK(count("granitemoehybrid", both, R"("mamba_n_heads": 8, "mamba_d_state": 6, "num_local_experts": 0,
              "layers_block_type": ["mamba", "attention", "mamba", "mamba"],
              "shared_intermediate_size": 40, "attention_bias": true)") == 136'700);
  CHECK(count("jamba", both, R"("num_experts": 4, "attn_layer_period": 2, "attn_layer_offset": 1,
              "mamba_proj_bias": true, "mamba_d_state": 5)") == 280'284);
  CHECK(count("jamba", both, R"("num_experts": 1, "attn_layer_period": 3, "attn_layer_offset": 0,
              "mamba_conv_bias": false, "mamba_dt_rank": 9)") == 179'346);
  CHECK(count("nemotron_h", both, R"("head_dim": 8, "layers_block_type": ["mamba", "moe", "attention", "mlp"],
              "mamba_num_heads": 8, "mamba_head_dim": 10, "n_groups": 2, "use_bias": true,
              "use_conv_bias": false, "moe_intermediate_size": 24, "n_routed_experts": 6,
              "moe_shared_expert_intermediate_size": 40)") == 107'344);
  CHECK(count("lfm2", both, R"("layer_types": ["conv", "conv", "full_attention", "conv"],
              "conv_bias": true)") == 266'592);
  CHECK(count("lfm2", both, R"("full_attn_idxs": [1], "conv_L_cache": 5, "block_ffn_dim_multiplier": 1.3,
              "block_multiple_of": 32, "tie_embedding": false)") == 149'536);
  CHECK(count("olmo_hybrid", both, R"("linear_key_head_dim": 10, "linear_value_head_dim": 14,
              "linear_conv_kernel_dim": 3, "layer_types": ["full_attention", "linear_attention",
              "full_attention", "linear_attention"])") == 145'500);
}

TEST_CASE("every config of the reference data is counted exactly, or refused by name") {
  constexpr int kAccepted = 67;
  // Llama 4's experts run on every token there, zero-weighted except for the chosen ones.
  const std::string dense_experts = "llama4";
  const std::string file = support::reference_data("hf/truth.csv");
  if (file.empty()) return;
  int accepted = 0;
  for (const TruthRow& row : truth(file)) {
    CAPTURE(row.type);
    const auto folder = std::filesystem::path(file).parent_path() / "configs";
    const std::string text = core::read_file((folder / (row.type + ".json")).string());
    if (const std::string why = refusal(text); why != "accepted") {
      CHECK_MESSAGE(why.find("config.json:1: ") != std::string::npos, why);
      continue;
    }
    ++accepted;
    const auto graph = built(text);
    CHECK(graph.parameters() == row.parameters);
    if (row.flops == 0 || row.type.starts_with(dense_experts) || has_state_space(graph)) continue;
    CHECK(std::abs(counted_flops(graph, !row.grouped) / row.flops - 1) < 0.005);
  }
  CHECK(accepted >= kAccepted);
}

TEST_CASE("layers are read in the words of transformers 4 and 5") {
  CHECK(parameter("gemma3_text", "", "mixers") == "(window(4096)*5+full)*4+window(4096)*2");
  CHECK(parameter("gemma3_text", R"("sliding_window_pattern": 2, "sliding_window": 512)", "mixers") ==
        "(window(512)+full)*13");
  CHECK(parameter("gemma3_text",
                  R"("num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"])",
                  "mixers") == "full+window(4096)");
  CHECK(parameter("olmo3", R"("sliding_window": null)", "mixers") == "full");
  CHECK(parameter("cohere2", R"("num_hidden_layers": 4)", "mixers") == "window(4096)*3+nope");
  CHECK(parameter("exaone4", R"("num_hidden_layers": 4)", "mixers") == "window(4096)*3+nope");
  CHECK(parameter("smollm3", R"("num_hidden_layers": 3, "no_rope_layers": [0, 1, 0])", "mixers") ==
        "nope+full+nope");
  CHECK(parameter("exaone4", R"("sliding_window": null, "num_hidden_layers": 2,
                  "layer_types": ["full_attention", "full_attention"])",
                  "mixers") == "full");
  CHECK(parameter("glm4_moe", R"("first_k_dense_replace": 3)", "feed_forwards") == "dense*3+experts*43");
  CHECK(parameter("glm4_moe_lite",
                  R"("num_hidden_layers": 3, "mlp_layer_types": ["dense", "sparse", "dense"])",
                  "feed_forwards") == "dense+experts+dense");
  CHECK(parameter("llama4_text", R"("interleave_moe_layer_step": 2)", "feed_forwards") ==
        "(dense+experts)*24");
  CHECK(parameter("llama4_text", R"("num_hidden_layers": 4)", "mixers") == "blocks(8192)*3+nope");
  CHECK(parameter("llama4", R"("text_config": {"num_hidden_layers": 4}, "vision_config": {})", "mixers") ==
        "blocks(8192)*3+nope");
  CHECK(parameter("cohere2_moe", R"("prefix_dense_intermediate_size": 64, "num_hidden_layers": 2,
                  "mlp_layer_types": ["dense", "sparse"])",
                  "feed_forward") == "64");
  CHECK(parameter("bamba", R"("num_hidden_layers": 4, "attn_layer_indices": [1])", "mixers") ==
        "state_space+full+state_space*2");
  CHECK(parameter("granitemoehybrid", R"("num_hidden_layers": 2, "layer_types": ["mamba", "attention"])",
                  "mixers") == "state_space+nope");
  CHECK(parameter("granitemoehybrid", R"("num_hidden_layers": 2, "position_embedding_type": "rope",
                  "layers_block_type": ["linear_attention", "full_attention"])",
                  "mixers") == "state_space+full");
  CHECK(parameter("granitemoehybrid", R"("num_local_experts": 0)", "feed_forward") == "1024");
  CHECK(parameter("jamba", R"("num_hidden_layers": 8)", "mixers") == "selective*4+nope+selective*3");
  CHECK(parameter("jamba", R"("num_hidden_layers": 4)", "feed_forwards") == "(dense+experts)*2");
  CHECK(parameter("jamba", R"("num_experts": 1)", "feed_forwards") == "dense");
  CHECK(parameter("nemotron_h", R"("hybrid_override_pattern": "M-M*-")", "mixers") ==
        "state_space+none+state_space+nope+none");
  CHECK(parameter("nemotron_h", R"("layers_block_type": ["mamba", "moe", "mlp"])", "feed_forwards") ==
        "none+experts+dense");
  CHECK(parameter("nemotron_h", R"("layers_block_type": ["mamba", "moe", "mlp"])", "layers") == "3");
  CHECK(parameter("lfm2", "", "mixers") == "full");
  CHECK(parameter("lfm2", R"("num_hidden_layers": 3, "full_attn_idxs": [2])", "mixers") ==
        "convolution*2+full");
  CHECK(parameter("lfm2", R"("num_hidden_layers": 2, "layer_types": ["conv", "full_attention"])", "mixers") ==
        "convolution+full");
  // 8192 x 1.1 is 9011, up to a multiple of 256.
  CHECK(parameter("lfm2", R"("block_ffn_dim_multiplier": 1.1)", "feed_forward") == "9216");
  CHECK(parameter("lfm2", R"("block_auto_adjust_ff_dim": false, "block_ff_dim": 100)", "feed_forward") ==
        "100");
  CHECK(parameter("olmo_hybrid", R"("num_hidden_layers": 4)", "norms") == "before*3+after");
  CHECK(parameter("olmo_hybrid", R"("linear_num_key_heads": 15)", "state_width") == "192");
  CHECK(parameter("falcon_mamba", "", "step_norms") == "plain");
  CHECK(parameter("mamba", R"("hidden_size": 40, "expand": 3)", "state_channels") == "120");
  CHECK(parameter("mamba", R"("hidden_size": 40)", "step_rank") == "3");
  CHECK(parameter("mamba", R"("time_step_rank": 7)", "step_rank") == "7");
  CHECK(parameter("gptj", R"("n_layer": 5)", "layers") == "5");
  CHECK(parameter("gptj", R"("num_hidden_layers": 5)", "layers") == "5");
  CHECK(parameter("olmo2", R"("rope_theta": 500000)", "rope_base") == "500000");
  CHECK(parameter("olmo2", R"("rope_parameters": {"rope_type": "default", "rope_theta": 500000.0})",
                  "rope_base") == "500000");
}

TEST_CASE("a type that is not read is refused with the nearest one that is") {
  const auto says = [](const char* type, const char* what) {
    const std::string why = refusal(fmt::format("{{\"model_type\": \"{}\"}}", type));
    CAPTURE(why);
    CHECK(why.find(what) != std::string::npos);
  };
  says("deepseek_v32",
       "'deepseek_v32' picks keys by an index of its own, which family decoder does not have; the nearest "
       "type that is read is deepseek_v3");
  says("rwkv", "has recurrent layers, which no family of the zoo states; penstock import hf --help lists");
  says("gemma22", "did you mean 'gemma2'?");
  const auto types = frameworks::hf_model_types();
  for (const char* type : {"llama", "gemma3_text", "gpt_oss", "llama4"})
    CHECK(std::ranges::count(types, type) == 1);
  const std::string page = core::read_file(support::checkout("/docs/frameworks.md"));
  for (const std::string& type : types)
    CHECK_MESSAGE(page.find(type) != page.npos, "docs/frameworks.md lacks ", type);
}

TEST_CASE("a key that makes another model than the zoo's decoder is refused by name") {
  const auto with = [](const char* type, const char* keys) {
    return refusal(fmt::format("{{\"model_type\": \"{}\", {}}}", type, keys));
  };
  const auto names = [&](const char* type, const char* keys, const char* key) {
    const std::string why = with(type, keys);
    CAPTURE(why);
    CHECK(why.find(key) != std::string::npos);
  };
  names("olmo2", R"("hidden_act": "mish")", "'mish' is not computed by the zoo");
  names("olmo2", R"("num_key_value_heads": 5)", "5 do not divide 32 attention heads");
  names("olmo2", R"("new_key": 1)", "new_key: is not known of olmo2");
  names("olmo", R"("clip_qkv": 8)", "clip_qkv: expected null");
  names("cohere2", R"("head_dim": 64)", "head_dim: expected 128");
  names("gemma3_text", R"("use_bidirectional_attention": true)",
        "use_bidirectional_attention: expected false");
  names("olmo3", R"("num_hidden_layers": 2, "layer_types": ["full_attention"])", "expected 2 entries");
  names("olmo3", R"("num_hidden_layers": 1, "layer_types": ["linear_attention"])",
        "'linear_attention' is not computed");
  names("glm4_moe_lite", R"("attention_bias": true)", "attention_bias: expected false");
  names("gptj", R"("n_layer": 4, "num_hidden_layers": 5)", "is another name for");
  names("gptj", R"("tie_word_embeddings": true)", "tie_word_embeddings: expected false");
  names("smollm3", R"("use_sliding_window": true, "sliding_window": 8)", "use_sliding_window");
  names("hy_v3", R"("num_shared_experts": 0)", "num_shared_experts: expected a number from 1 on");
  names("gpt_oss", R"("num_local_experts": 2)",
        "num_experts_per_tok is left out: a token takes 4 of 2 experts");
  names("gpt_oss", R"("num_experts_per_tok": 200)", "num_experts_per_tok: a token takes 200 of 128 experts");
  names("dots1", R"("n_routed_experts": null)", "n_routed_experts: a token takes 0 of 0 experts");
  names("mpt", R"("attn_config": {"qk_ln": true})", "qk_ln: is not computed");
  names("xglm", R"("add_cross_attention": true)", "add_cross_attention: expected false");
  names("llama4", R"("vision_config": {})", "text_config");
  names("mamba", R"("hidden_act": "gelu")", "hidden_act: expected silu");
  names("mamba2", R"("num_heads": 64)", "expand is left out: 64 heads of 64 are not 8192 wide");
  names("bamba", R"("mamba_n_groups": 3)", "mamba_n_groups: 3 do not divide 128 heads");
  names("bamba", R"("attn_layer_indices": [40])", "attn_layer_indices");
  names("granitemoehybrid", R"("num_hidden_layers": 1, "layer_types": ["conv"])", "'conv' is not computed");
  names("granitemoehybrid", R"("position_embedding_type": "alibi")",
        "position_embedding_type: expected rope");
  names("jamba", R"("attn_layer_offset": 8)", "attn_layer_offset: expected less than");
  names("nemotron_h", R"("hybrid_override_pattern": "MX")",
        "hybrid_override_pattern: expected M, *, E and -");
  names("nemotron_h", R"("num_hidden_layers": 3)", "num_hidden_layers: expected 4");
  names("nemotron_h", R"("moe_latent_size": 64)", "moe_latent_size: expected null");
  names("lfm2", R"("num_hidden_layers": 1, "layer_types": ["mamba"])", "'mamba': expected conv");
  names("olmo_hybrid", R"("linear_num_value_heads": 7)", "do not divide 7 heads of values");
  names("falcon_h1", R"("vocab_size": 8)", "has attention beside state spaces in a layer");
  CHECK(with("olmo", R"("clip_qkv": null)") == "accepted");
  CHECK(with("gptj", R"("n_layer": 5, "num_hidden_layers": 5)") == "accepted");
}
