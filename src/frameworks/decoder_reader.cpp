// Reads a row of the table of decoders.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "decoder_keys.hpp"
#include "hf_statements.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::array<std::string_view, 6> kActivationKeys = {
    "hidden_act", "hidden_activation", "activation", "activation_function", "afn", "act_fn"};

/// The zoo's word for an activation of transformers; "": it has none.
std::string activation_word(const std::string& name) {
  if (name == "silu" || name == "swish") return "silu";
  if (name == "relu" || name == "relu2" || name == "xielu") return name;
  return name.starts_with("gelu") || name == "quick_gelu" ? "gelu" : "";
}

void read_activation(DecoderKeys& keys) {
  for (const std::string_view key : kActivationKeys) {
    if (!keys.knows(key)) continue;
    const auto name = keys.value(key);
    const std::string word = name ? activation_word(*name) : "";
    if (word.empty())
      keys.fail(key, fmt::format("'{}' is not computed by the zoo; known: silu, gelu, relu, relu2, xielu",
                                 name.value_or("null")));
    keys.set("activation", word);
  }
}

/// Key and value heads, and the width of a head; nothing of a model without attention.
void read_decoder_heads(DecoderKeys& keys) {
  if (!keys.knows("num_attention_heads")) return;
  const std::int64_t hidden = keys.needed("hidden_size"), heads = keys.needed("num_attention_heads"),
                     groups = keys.count("num_key_value_heads").value_or(heads);
  if (groups < 1 || heads % groups != 0)
    keys.fail("num_key_value_heads", fmt::format("{} do not divide {} attention heads", groups, heads));
  keys.set("heads", heads);
  keys.set("kv_heads", groups);
  const auto head = keys.count("head_dim");
  keys.set("head_width", head.value_or(hidden / heads));
}

void read_decoder_sizes(DecoderKeys& keys) {
  keys.set("vocabulary", keys.needed("vocab_size"));
  keys.set("hidden", keys.needed("hidden_size"));
  if (keys.knows("num_hidden_layers")) keys.set("layers", keys.layers());
  keys.set("mixers", "full");
  const std::int64_t positions = keys.count("max_position_embeddings").value_or(4096);
  keys.set("sequence", keys.tokens().value_or(positions));
  if (positions != keys.tokens().value_or(positions)) keys.set("positions", positions);
  keys.set("tied_head", keys.flag("tie_word_embeddings") ? "yes" : "no");
  if (const auto width = keys.count("intermediate_size")) keys.set("feed_forward", *width);
  read_activation(keys);
}

void read_field(DecoderKeys& keys, const SplitWord& field) {
  if (field.mark == '>') {
    if (const auto count = keys.count(field.first)) keys.set(field.second.c_str(), *count);
  } else if (keys.flag(field.first)) {
    for (const SplitWord& set : split_words(field.second, "=")) keys.set(set.first.c_str(), set.second);
  }
}

/// Refuses, by the keys of the row, a number of experts that a token cannot take.
void check_experts(DecoderKeys& keys, const std::vector<SplitWord>& fields) {
  const auto value = [&](const char* parameter) {
    const std::string& text = keys.parameter(parameter);
    return text.empty() ? 0 : std::stoll(text);
  };
  if (keys.parameter("feed_forwards").find("experts") == std::string::npos) return;
  const auto count = value("experts"), chosen = value("chosen");
  for (const SplitWord& field : fields)
    if ((field.second == "experts" && count < 1) ||
        (field.second == "chosen" && (chosen < 1 || chosen > count)))
      keys.fail(field.first, fmt::format("a token takes {} of {} experts", chosen, count));
}

bool same_value(const std::string& one, const std::string& other) {
  return one == other || one == other + ".0";
}

void demand_value(DecoderKeys& keys, const SplitWord& demand) {
  const auto found = keys.value(demand.first);
  const bool off = demand.second == "null" || demand.second == "false" || demand.second == "0";
  if (found ? same_value(*found, demand.second) : off) return;
  keys.fail(demand.first, fmt::format("expected {}: the zoo's decoder computes nothing else", demand.second));
}

/// Latent attention where the config has its widths.
void read_latent_widths(DecoderKeys& keys) {
  if (!keys.knows("kv_lora_rank")) return;
  keys.set("mixers", "latent");
  keys.set("query_rank", keys.count("q_lora_rank").value_or(0));
  keys.set("key_rank", keys.needed("kv_lora_rank"));
  keys.set("head_width", keys.needed("qk_nope_head_dim"));
  keys.set("rotary_width", keys.needed("qk_rope_head_dim"));
  keys.set(
      "value_width",
      keys.count("v_head_dim").value_or(keys.needed("hidden_size") / keys.needed("num_attention_heads")));
  const std::int64_t heads = keys.needed("num_attention_heads");
  if (keys.count("num_key_value_heads").value_or(heads) != heads)
    keys.fail("num_key_value_heads", fmt::format("expected {}: latent attention shares no heads", heads));
  keys.pass("qk_head_dim rope_interleave");
}

double stated_number(DecoderKeys& keys, std::initializer_list<std::string_view> names, double otherwise) {
  for (const std::string_view name : names) {
    if (const auto node = keys.given(name)) return node->number();
    if (const auto usual = keys.value(name)) return std::stod(*usual);
  }
  return otherwise;
}

/// Keys that no operator depends on and that exports need (models/stated.hpp).
void read_described_statements(DecoderKeys& keys, ConfigKeys& all) {
  const auto number = [&](const char* parameter, std::initializer_list<std::string_view> names,
                          double otherwise) {
    keys.set(parameter, number_text(stated_number(keys, names, otherwise)));
  };
  number("norm_epsilon", {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"},
         1e-5);
  number("init_std", {"initializer_range", "init_std"}, 0.02);
  number("attention_dropout", {"attention_dropout", "attention_probs_dropout_prob", "attn_pdrop"}, 0);
  number("hidden_dropout",
         {"hidden_dropout", "hidden_dropout_prob", "resid_pdrop", "residual_dropout", "dropout"}, 0);
  number("router_scale", {"routed_scaling_factor", "route_scale"}, 1);
  number("balance_loss", {"router_aux_loss_coef"}, 0.001);
  number("router_jitter", {"router_jitter_noise"}, 0);
  keys.set("rope_base", number_text(rope_base(all, stated_number(keys, {"rope_theta"}, 10'000))));
  keys.set("rope_scaling", rope_scaling_text(all));
  keys.set("router_normalised", keys.flag("norm_topk_prob") ? "yes" : "no");
  const std::int64_t groups = keys.count("n_group").value_or(1);
  keys.set("router_groups", std::max<std::int64_t>(groups, 1));
  keys.set("router_groups_chosen", std::clamp<std::int64_t>(keys.count("topk_group").value_or(1), 1,
                                                            std::max<std::int64_t>(groups, 1)));
}

/// Keys that change no operator of any decoder: where rotary positions turn to, caps and scales of numbers.
constexpr std::string_view kPassed =
    "partial_rotary_factor rope_local_base_freq final_logit_softcapping attn_logit_softcapping "
    "query_pre_attn_scalar output_router_logits";

}  // namespace

void read_decoder_row(ConfigKeys& keys, const DecoderRow& row, std::optional<std::int64_t> tokens,
                      std::map<std::string, std::string>& out) {
  DecoderKeys all(keys, row, tokens, out);
  out["norms"] = "before";
  out["gated"] = "yes";
  read_decoder_sizes(all);
  read_decoder_heads(all);
  read_latent_widths(all);
  for (const SplitWord& word : split_words(row.fixed, "=")) all.set(word.first.c_str(), word.second);
  const std::vector<SplitWord> fields = split_words(row.fields, ">?");
  for (const SplitWord& field : fields) read_field(all, field);
  for (const DecoderRule rule : row.rules) rule(all);
  if (out.contains("feed_forwards")) check_experts(all, fields);
  for (const SplitWord& demand : split_words(row.demands, "=")) demand_value(all, demand);
  all.pass(row.passed);
  if (out.contains("head_bias") && out["head_bias"] == "yes" && out["tied_head"] == "yes")
    all.fail("tie_word_embeddings", "expected false: the head has a bias, which a tied one has not here");
  all.pass(kPassed);
  read_described_statements(all, keys);
}

}  // namespace penstock::frameworks
