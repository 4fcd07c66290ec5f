// Llama's decoder: RMS norms, rotary positions, grouped-query attention, SwiGLU, no bias anywhere. Also its
// relatives, which differ only in attention.

#include "models/families.hpp"
#include "models/grouped_attention.hpp"
#include "models/rotary_decoder.hpp"
#include "models/stated.hpp"

namespace penstock::models {
namespace {

graph::OpGraph build_llama(const Parameters& p) {
  const HeadAttention attention = read_grouped_attention(p, p.integer("hidden", 1, kWidest));
  const DecoderLayer layer{.mixer = attention,
                           .feed_forward = DenseForm{p.integer("feed_forward", 1, kWidest)}};
  return build_decoder(p.model(), p.element_bytes(), rotary_decoder(p, read_layers(p, layer)));
}

SizeInfo size(const std::string& name, const std::vector<std::string>& values,
              const std::map<std::string, std::string>& beside = {}) {
  constexpr const char* kKeys[] = {"layers",       "hidden",     "heads",   "kv_heads",
                                   "feed_forward", "vocabulary", "sequence"};
  SizeInfo out{name, beside};
  for (std::size_t i = 0; i < values.size(); ++i) out.parameters[kKeys[i]] = values[i];
  return out;
}

std::vector<ParameterInfo> llama_parameters() {
  std::vector<ParameterInfo> all = {
      {"vocabulary", "128256", "tokens known"},
      {"sequence", "8192", "tokens of a sample"},
      {"layers", "32", "decoder layers"},
      {"hidden", "4096", "width of a token"},
      {"heads", "32", "attention heads; divides hidden"},
      {"kv_heads", "8", "heads of keys and values, shared by groups of heads; divides heads"},
      {"head_width", "0", "width of a head; 0: all heads together are as wide as hidden"},
      {"qkv_bias", "no", "yes: query, key and value have biases (Qwen2)"},
      {"qk_norm", "no",
       "yes: queries and keys are normalised head by head (Qwen3); whole: all heads together (OLMoE)"},
      {"feed_forward", "14336", "width of gate and up projection, each"},
      loss_parameter(),
      {"tied_head", "no", "yes: the head uses the token embedding's weights; no: it has its own"}};
  for (ParameterInfo& one : attention_core_parameters()) all.push_back(std::move(one));
  for (ParameterInfo& one : rotary_statements("500000", "none", {})) all.push_back(std::move(one));
  return all;
}

}  // namespace

// Numbers from the models' reports; the 8 B, 70 B and 405 B of Llama 3 have 8.03, 70.6 and 405.9 billion
// parameters.
ModelInfo llama() {
  const std::map<std::string, std::string> first = {{"rope_base", "10000"}},
                                           stretched = {
                                               {"positions", "131072"},
                                               {"rope_scaling",
                                                "llama3:factor=8:high_freq_factor=4:low_freq_factor=1:"
                                                "original_max_position_embeddings=8192"}};
  return {
      "llama",
      "decoder with RMS norms, rotary positions, grouped-query attention and SwiGLU; Mistral's and Qwen's "
      "too",
      "Dubey et al., The Llama 3 Herd of Models, 2024, table 3; Touvron et al., Llama 2, 2023; Jiang et al., "
      "Mistral 7B, 2023; Qwen2 (2024, section 2.2.1) and Qwen3 (2025, table 1) technical reports",
      llama_parameters(),
      build_llama,
      {size("llama3-8b", {"32", "4096", "32", "8", "14336", "128256", "8192"}),
       size("llama3-70b", {"80", "8192", "64", "8", "28672", "128256", "8192"}),
       size("llama3-405b", {"126", "16384", "128", "8", "53248", "128256", "8192"}, stretched),
       size("llama2-7b", {"32", "4096", "32", "32", "11008", "32000", "4096"}, first),
       size("llama2-13b", {"40", "5120", "40", "40", "13824", "32000", "4096"}, first),
       size("llama2-70b", {"80", "8192", "64", "8", "28672", "32000", "4096"}, first),
       size("mistral-7b", {"32", "4096", "32", "8", "14336", "32000", "4096"},
            {{"rope_base", "10000"}, {"positions", "32768"}}),
       size("qwen2.5-7b", {"28", "3584", "28", "4", "18944", "152064", "4096"},
            {{"qkv_bias", "yes"},
             {"rope_base", "1000000"},
             {"norm_epsilon", "1e-06"},
             {"positions", "131072"}}),
       size("qwen3-8b", {"36", "4096", "32", "8", "12288", "151936", "4096"},
            {{"qk_norm", "yes"},
             {"rope_base", "1000000"},
             {"norm_epsilon", "1e-06"},
             {"positions", "40960"}})}};
}

}  // namespace penstock::models
