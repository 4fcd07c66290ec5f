#include "models/latent_attention.hpp"

namespace penstock::models {

/// Keys are the projected source and, beside it, the part that all heads share. DeepSeek's code computes the
/// two down projections as one product; here each is one operator, because what is between them is narrow.
Tensor latent_attention(Layers& net, const std::string& name, const Tensor& x, const LatentAttention& a) {
  Tensor query = x;
  if (a.query_rank > 0)
    query = net.rms_norm(name + ".query_norm", net.linear(name + ".query_down", x, a.query_rank));
  const Tensor latent = net.rms_norm(name + ".key_norm", net.linear(name + ".key_down", x, a.key_rank));
  const Tensor key = net.concat(name + ".key", {latent, net.linear(name + ".key_rotary", x, a.rotary)}, 1);
  return net.attention(name, query, key, latent, a.heads,
                       {.core = AttentionCore::flash,
                        .rotary = true,
                        .head_width = a.head + a.rotary,
                        .hidden = x.width(),
                        .value_head = a.value,
                        .rotary_width = a.rotary,
                        .mask = a.mask});
}

}  // namespace penstock::models
