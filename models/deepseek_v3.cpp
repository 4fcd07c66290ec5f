// DeepSeek's decoder: latent attention, dense layers before those with experts, and a module that predicts
// one token more.

#include "models/blocks.hpp"
#include "models/families.hpp"
#include "models/mixture.hpp"
#include "models/rotary_decoder.hpp"
#include "models/stated.hpp"

namespace penstock::models {
namespace {

LatentAttention read_latent(const Parameters& p) {
  return {p.integer("heads", 1, kMostHeads),
          p.integer("query_rank", 0, kWidest),
          p.integer("key_rank", 1, kWidest),
          p.integer("head_width", 1, kWidest),
          p.integer("rotary_width", 1, kWidest),
          p.integer("value_width", 1, kWidest),
          read_mask(p)};
}

graph::OpGraph build_deepseek(const Parameters& p) {
  const LatentAttention latent = read_latent(p);
  Mixture experts = read_mixture(p);
  experts.sigmoid = p.word("scores", {"sigmoid", "softmax"}) == "sigmoid";
  const DecoderLayer routed{.mixer = latent, .feed_forward = experts};
  std::vector<DecoderLayer> layers = read_layers(p, routed);
  const DenseForm dense{p.integer("feed_forward", 1, kWidest)};
  const std::int64_t first = p.integer("dense_layers", 0, std::ssize(layers));
  for (std::int64_t i = 0; i < first; ++i) layers[static_cast<std::size_t>(i)].feed_forward = dense;
  Decoder decoder = rotary_decoder(p, std::move(layers));
  if (p.flag("mtp")) decoder.predicted = routed;
  return build_decoder(p.model(), p.element_bytes(), decoder);
}

SizeInfo deepseek_size(const std::string& name, const std::vector<std::string>& values,
                       const std::map<std::string, std::string>& beside = {}) {
  constexpr const char* kKeys[] = {"layers",       "hidden",       "heads",     "query_rank",
                                   "dense_layers", "feed_forward", "experts",   "chosen",
                                   "expert_width", "shared_width", "vocabulary"};
  SizeInfo out{name, beside};
  for (std::size_t i = 0; i < values.size(); ++i) out.parameters[kKeys[i]] = values[i];
  return out;
}

/// RoPE scaling of DeepSeek-V3.
constexpr const char* kStretched =
    "yarn:beta_fast=32:beta_slow=1:factor=40:mscale=1:mscale_all_dim=1:original_max_position_embeddings=4096";

std::vector<ParameterInfo> deepseek_parameters() {
  std::vector<ParameterInfo> all = {
      {"vocabulary", "129280", "tokens known"},
      {"sequence", "4096", "tokens of a sample"},
      {"layers", "61", "decoder layers"},
      {"dense_layers", "3", "first layers without experts"},
      {"hidden", "7168", "width of a token"},
      {"heads", "128", "attention heads"},
      {"query_rank", "1536", "width that queries are projected from; 0: from the token itself"},
      {"key_rank", "512", "width that keys and values are projected from"},
      {"head_width", "128", "width of a head's keys, without the part that all heads share"},
      {"rotary_width", "64", "width of that part, which is turned by positions"},
      {"value_width", "128", "width of a head's values"},
      {"feed_forward", "18432", "width of gate and up projection of a dense layer, each"}};
  for (ParameterInfo& one : mixture_parameters({256, 8, 2048, 2048})) all.push_back(std::move(one));
  all.push_back(mask_parameter());
  all.push_back({"scores", "sigmoid", "of the router: sigmoid; or softmax (DeepSeek-V2)"});
  all.push_back({"mtp", "no", "yes: a module predicts one token more"});
  all.push_back(loss_parameter());
  all.push_back({"tied_head", "no", "yes: the head uses the token embedding's weights; no: it has its own"});
  for (ParameterInfo& one : rotary_statements("10000", kStretched, {.norm_epsilon = "1e-06"}))
    all.push_back(std::move(one));
  for (ParameterInfo& one : router_statements(true)) all.push_back(std::move(one));
  return all;
}

}  // namespace

// Numbers from the models' reports and configurations: V3 has 671 billion parameters, of which a token uses
// 37; V2 has 236, of which a token uses 21. Experts' biases, which no gradient moves, are not counted.
ModelInfo deepseek_v3() {
  using Values = std::map<std::string, std::string>;
  const Values v3 = {{"positions", "163840"}};
  const Values v2 = {{"scores", "softmax"},
                     {"positions", "163840"},
                     {"rope_scaling",
                      "yarn:beta_fast=32:beta_slow=1:factor=40:mscale=0.707:mscale_all_dim=0.707:"
                      "original_max_position_embeddings=4096"},
                     {"router_normalised", "no"},
                     {"router_bias", "no"},
                     {"router_groups_chosen", "3"},
                     {"router_scale", "16"}};
  Values lite = v2;
  for (const char* key : {"router_groups", "router_groups_chosen", "router_scale"}) lite[key] = "1";
  const Values one_group = {{"rope_base", "50000"}, {"router_groups", "1"}, {"router_groups_chosen", "1"}};
  Values moonlight = {{"rope_scaling", "none"},
                      {"positions", "8192"},
                      {"norm_epsilon", "1e-05"},
                      {"router_scale", "2.446"}},
         kimi = {{"rope_scaling",
                  "yarn:beta_fast=1:beta_slow=1:factor=32:mscale=1:mscale_all_dim=1:"
                  "original_max_position_embeddings=4096"},
                 {"positions", "131072"},
                 {"router_scale", "2.827"}};
  moonlight.insert(one_group.begin(), one_group.end());
  kimi.insert(one_group.begin(), one_group.end());
  return {
      "deepseek_v3",
      "decoder with latent attention and fine-grained experts; DeepSeek-V2's, Moonlight's and Kimi's too",
      "DeepSeek-V3 (2024, section 4.2) and DeepSeek-V2 (2024, section 3.1.2) technical reports; Moonlight "
      "and "
      "Kimi K2 configurations, 2025",
      deepseek_parameters(),
      build_deepseek,
      {deepseek_size("deepseek-v3",
                     {"61", "7168", "128", "1536", "3", "18432", "256", "8", "2048", "2048", "129280"}, v3),
       deepseek_size("deepseek-v2",
                     {"60", "5120", "128", "1536", "1", "12288", "160", "6", "1536", "3072", "102400"}, v2),
       deepseek_size("deepseek-v2-lite",
                     {"27", "2048", "16", "0", "1", "10944", "64", "6", "1408", "2816", "102400"}, lite),
       deepseek_size("moonlight-16b-a3b",
                     {"27", "2048", "16", "0", "1", "11264", "64", "6", "1408", "2816", "163840"}, moonlight),
       deepseek_size("kimi-k2",
                     {"61", "7168", "64", "1536", "1", "18432", "384", "8", "2048", "2048", "163840"},
                     kimi)}};
}

}  // namespace penstock::models
