// Llama's decoder: RMS norms, rotary positions, grouped-query attention, SwiGLU, no bias anywhere.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

struct Sizes {
  std::int64_t heads, kv_heads, width;
  AttentionCore core;
};

/// Norms stand before attention and feed-forward, inside the residual branch. Gate and up projection are one
/// product, as Megatron-LM runs them.
Tensor layer(Layers& net, const std::string& name, const Tensor& x, const Sizes& sizes) {
  const Tensor normed = net.rms_norm(name + ".norm1", x);
  const Tensor attended = net.attention(name + ".attention", normed, normed, normed, sizes.heads,
                                        {.core = sizes.core, .kv_heads = sizes.kv_heads, .rotary = true});
  const Tensor middle = net.add(name + ".add1", {x, attended});
  const Tensor wide = net.linear(name + ".gate_up", net.rms_norm(name + ".norm2", middle), 2 * sizes.width);
  const Tensor fed = net.linear(name + ".down", net.swiglu(name + ".swiglu", wide), x.width());
  return net.add(name + ".add2", {middle, fed});
}

graph::OpGraph build_llama(const Parameters& p) {
  const std::int64_t vocabulary = p.integer("vocabulary", 1, 10 * kWidest),
                     hidden = p.integer("hidden", 1, kWidest),
                     sequence = p.integer("sequence", 1, 16 * kWidest);
  Sizes sizes{};
  sizes.heads = p.heads("heads", hidden);
  sizes.kv_heads = p.integer("kv_heads", 1, sizes.heads);
  if (sizes.heads % sizes.kv_heads != 0) p.fail("kv_heads", "a divisor of the heads");
  sizes.width = p.integer("feed_forward", 1, kWidest);
  sizes.core =
      p.word("attention", {"flash", "plain"}) == "flash" ? AttentionCore::flash : AttentionCore::plain;
  Layers net(p.model(), p.element_bytes());
  Tensor x = net.embedding("token.embedding", net.indices("token.input", sequence), {vocabulary, hidden});
  const std::int64_t layers = p.integer("layers", 1, kDeepest);
  for (std::int64_t i = 0; i < layers; ++i) x = layer(net, "layer" + std::to_string(i), x, sizes);
  x = net.linear("head", net.rms_norm("norm", x), vocabulary,
                 {.parameters_of = p.flag("tied_head") ? "token.embedding" : ""});
  if (p.flag("loss")) net.loss("loss", x);
  return net.build();
}

SizeInfo size(const std::string& name, const std::vector<std::string>& values) {
  constexpr const char* kKeys[] = {"layers",       "hidden",     "heads",   "kv_heads",
                                   "feed_forward", "vocabulary", "sequence"};
  SizeInfo out{name, {}};
  for (std::size_t i = 0; i < values.size(); ++i) out.parameters[kKeys[i]] = values[i];
  return out;
}

}  // namespace

// Numbers from the models' reports; the 8 B, 70 B and 405 B of Llama 3 have 8.03, 70.6 and 405.9 billion
// parameters.
ModelInfo llama() {
  return {
      "llama",
      "decoder with RMS norms, rotary positions, grouped-query attention and SwiGLU",
      "Dubey et al., The Llama 3 Herd of Models, 2024, table 3; Touvron et al., Llama 2, 2023",
      {{"vocabulary", "128256", "tokens known"},
       {"sequence", "8192", "tokens of a sample"},
       {"layers", "32", "decoder layers"},
       {"hidden", "4096", "width of a token"},
       {"heads", "32", "attention heads; divides hidden"},
       {"kv_heads", "8", "heads of keys and values, shared by groups of heads; divides heads"},
       {"feed_forward", "14336", "width of gate and up projection, each"},
       {"attention", "flash", "flash, which never stores its scores; or plain, which runs kernel by kernel"},
       {"loss", "no", "yes: ends in the softmax over the vocabulary that a cross entropy needs"},
       {"tied_head", "no", "yes: the head uses the token embedding's weights; no: it has its own"}},
      build_llama,
      {size("llama3-8b", {"32", "4096", "32", "8", "14336", "128256", "8192"}),
       size("llama3-70b", {"80", "8192", "64", "8", "28672", "128256", "8192"}),
       size("llama3-405b", {"126", "16384", "128", "8", "53248", "128256", "8192"}),
       size("llama2-7b", {"32", "4096", "32", "32", "11008", "32000", "4096"}),
       size("llama2-13b", {"40", "5120", "40", "40", "13824", "32000", "4096"}),
       size("llama2-70b", {"80", "8192", "64", "8", "28672", "32000", "4096"})}};
}

}  // namespace penstock::models
