#include "models/latent_attention.hpp"

namespace penstock::models {

/// Keys are the projected source and, beside it, the part that all heads share. DeepSeek's code computes the
/// two down projections as one product; here each is one operator, because what is between them is narrow.
Tensor latent_attention(Layers& net, const std::string& name, const Tensor& x, const LatentAttention& a) {
  Tensor query = x;
  if (a.query_rank > 0)
    query = net.normalised(name + ".query_norm", net.linear(name + ".query_down", x, a.query_rank), a.norm);
  const Tensor latent =
      net.normalised(name + ".key_norm", net.linear(name + ".key_down", x, a.key_rank), a.norm);
  const Tensor key = net.concat(name + ".key", {latent, net.linear(name + ".key_rotary", x, a.rotary)}, 1);
  return net.attention(name, query, key, latent, a.heads,
                       {.core = AttentionCore::flash,
                        .rotary = true,
                        .output_bias = a.output_bias,
                        .head_width = a.head + a.rotary,
                        .hidden = x.width(),
                        .value_head = a.value,
                        .rotary_width = a.rotary,
                        .mask = a.mask,
                        .dropout = a.dropout});
}

}  // namespace penstock::models
