#include "models/grouped_attention.hpp"

#include "models/blocks.hpp"

namespace penstock::models {

HeadAttention read_grouped_attention(const Parameters& p, std::int64_t hidden) {
  HeadAttention out{};
  AttentionForm& form = out.form;
  form.head_width = p.integer("head_width", 0, kWidest);
  out.heads = form.head_width > 0 ? p.integer("heads", 1, kMostHeads) : p.heads("heads", hidden);
  form.kv_heads = p.integer("kv_heads", 1, out.heads);
  if (out.heads % form.kv_heads != 0) p.fail("kv_heads", "a divisor of the heads");
  form.core =
      p.word("attention", {"flash", "plain"}) == "flash" ? AttentionCore::flash : AttentionCore::plain;
  form.mask = read_mask(p);
  form.reach = p.integer("window", 0, 16 * kWidest);
  if (form.reach > 0 && form.mask == AttentionMask::none) p.fail("window", "a causal mask");
  if (form.reach > 0) form.mask = AttentionMask::window;
  form.rotary = true;
  form.qkv_bias = p.flag("qkv_bias");
  const std::string norm = p.word("qk_norm", {"yes", "no", "whole"});
  form.key_norm = norm == "yes" ? KeyNorm::head : norm == "whole" ? KeyNorm::whole : KeyNorm::none;
  return out;
}

std::vector<ParameterInfo> attention_core_parameters() {
  return {
      {"attention", "flash", "flash, which never stores its scores; or plain, which runs kernel by kernel"},
      mask_parameter(),
      {"window", "0", "tokens that a token attends to at most, itself among them; 0: all before it"}};
}

std::vector<ParameterInfo> grouped_attention_parameters() {
  std::vector<ParameterInfo> all = {
      {"heads", "32", "attention heads; divides hidden"},
      {"kv_heads", "8", "heads of keys and values, shared by groups of heads; divides heads"},
      {"head_width", "0", "width of a head; 0: all heads together are as wide as hidden"},
      {"qkv_bias", "no", "yes: query, key and value have biases (Qwen2)"},
      {"qk_norm", "no",
       "yes: queries and keys are normalised head by head (Qwen3); whole: all heads together (OLMoE)"}};
  for (ParameterInfo& one : attention_core_parameters()) all.push_back(std::move(one));
  return all;
}

}  // namespace penstock::models
