// Decoders whose feed-forwards are mixtures of experts, with Llama's attention: Mixtral, and its relatives of
// Qwen and OLMoE.

#include "models/families.hpp"
#include "models/grouped_attention.hpp"
#include "models/mixture.hpp"
#include "models/rotary_decoder.hpp"
#include "models/stated.hpp"

namespace penstock::models {
namespace {

graph::OpGraph build_mixtral(const Parameters& p) {
  const HeadAttention attention = read_grouped_attention(p, p.integer("hidden", 1, kWidest));
  Mixture experts = read_mixture(p);
  experts.shared_gate = p.flag("shared_gate");
  experts.bias = p.flag("expert_bias");
  experts.clamped = p.flag("expert_clamp");
  const DecoderLayer layer{.mixer = attention, .feed_forward = experts};
  return build_decoder(p.model(), p.element_bytes(), rotary_decoder(p, read_layers(p, layer)));
}

SizeInfo mixtral_size(const std::string& name, const std::vector<std::string>& values,
                      const std::map<std::string, std::string>& beside = {}) {
  constexpr const char* kKeys[] = {"layers",  "hidden", "heads",        "kv_heads",
                                   "experts", "chosen", "expert_width", "vocabulary"};
  SizeInfo out{name, beside};
  for (std::size_t i = 0; i < values.size(); ++i) out.parameters[kKeys[i]] = values[i];
  return out;
}

std::vector<ParameterInfo> mixtral_parameters() {
  std::vector<ParameterInfo> all = {{"vocabulary", "32000", "tokens known"},
                                    {"sequence", "4096", "tokens of a sample"},
                                    {"layers", "32", "decoder layers"},
                                    {"hidden", "4096", "width of a token"}};
  for (ParameterInfo& one : grouped_attention_parameters()) all.push_back(std::move(one));
  for (ParameterInfo& one : mixture_parameters({8, 2, 14336})) all.push_back(std::move(one));
  all.push_back({"shared_gate", "no", "yes: a sigmoid of the token weighs that (Qwen2)"});
  all.push_back({"expert_bias", "no", "yes: experts have biases (GPT-OSS)"});
  all.push_back({"expert_clamp", "no", "yes: what goes into their activation is clamped (GPT-OSS)"});
  all.push_back(loss_parameter());
  all.push_back({"tied_head", "no", "yes: the head uses the token embedding's weights; no: it has its own"});
  for (ParameterInfo& one : rotary_statements("1000000", "none", {})) all.push_back(std::move(one));
  for (ParameterInfo& one : router_statements(false)) all.push_back(std::move(one));
  return all;
}

}  // namespace

// Numbers from the models' configurations; of 46.7 billion parameters of Mixtral 8x7B a token uses 12.9.
ModelInfo mixtral() {
  const std::map<std::string, std::string> qwen3 = {{"qk_norm", "yes"},
                                                    {"head_width", "128"},
                                                    {"norm_epsilon", "1e-06"},
                                                    {"positions", "40960"},
                                                    {"balance_loss", "0.001"}};
  return {
      "mixtral",
      "decoder whose feed-forwards are mixtures of experts, with Llama's attention; Qwen's and OLMoE's too",
      "Jiang et al., Mixtral of Experts, 2024, table 1; Qwen3 technical report, 2025, table 2; Qwen1.5-MoE, "
      "2024; Muennighoff et al., OLMoE, 2024",
      mixtral_parameters(),
      build_mixtral,
      {mixtral_size("mixtral-8x7b", {"32", "4096", "32", "8", "8", "2", "14336", "32000"},
                    {{"positions", "32768"}}),
       mixtral_size("mixtral-8x22b", {"56", "6144", "48", "8", "8", "2", "16384", "32000"},
                    {{"positions", "65536"}, {"balance_loss", "0.001"}}),
       mixtral_size("qwen3-30b-a3b", {"48", "2048", "32", "4", "128", "8", "768", "151936"}, qwen3),
       mixtral_size("qwen3-235b-a22b", {"94", "4096", "64", "4", "128", "8", "1536", "151936"}, qwen3),
       mixtral_size("qwen1.5-moe-a2.7b", {"24", "2048", "16", "16", "60", "4", "1408", "151936"},
                    {{"qkv_bias", "yes"},
                     {"shared_width", "5632"},
                     {"shared_gate", "yes"},
                     {"norm_epsilon", "1e-06"},
                     {"positions", "8192"},
                     {"router_normalised", "no"},
                     {"balance_loss", "0.001"}}),
       mixtral_size("olmoe-1b-7b", {"16", "2048", "16", "16", "64", "8", "1024", "50304"},
                    {{"qk_norm", "whole"},
                     {"rope_base", "10000"},
                     {"router_normalised", "no"},
                     {"balance_loss", "0.01"}})}};
}

}  // namespace penstock::models
