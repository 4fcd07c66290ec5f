#include "models/decoder.hpp"

#include <stdexcept>

#include "models/blocks.hpp"
#include "models/dense_forward.hpp"
#include "models/latent_attention.hpp"

namespace penstock::models {
namespace {

Tensor mix(Layers& net, const std::string& name, const Tensor& x, const HeadAttention& a) {
  if (a.split)
    return self_attention(net, name + ".attention", x, a.heads, "split", a.form.mask, false, a.form.bias);
  return net.attention(name + ".attention", x, x, x, a.heads, a.form);
}

Tensor mix(Layers& net, const std::string& name, const Tensor& x, const LatentAttention& a) {
  return latent_attention(net, name + ".attention", x, a);
}

Tensor mix(Layers& net, const std::string& name, const Tensor& x, const StateSpace& space) {
  return state_space(net, name + ".mixer", x, space);
}

Tensor mix(Layers& net, const std::string& name, const Tensor& x, const SelectiveScan& scan) {
  return selective_scan(net, name + ".mixer", x, scan);
}

Tensor mix(Layers& net, const std::string& name, const Tensor& x, const DeltaNet& delta) {
  return delta_net(net, name + ".mixer", x, delta);
}

Tensor mix(Layers& net, const std::string& name, const Tensor& x, const GatedConvolution& convolution) {
  return gated_convolution(net, name + ".mixer", x, convolution);
}

Tensor mix(Layers&, const std::string& name, const Tensor&, const NoBranch&) {
  throw std::logic_error(name + " has no mixer");
}

std::vector<Tensor> feed(Layers& net, const std::string& name, const Tensor& x, const DenseForm& dense) {
  return {dense_forward(net, name, x, dense)};
}

std::vector<Tensor> feed(Layers& net, const std::string& name, const Tensor& x, const Mixture& experts) {
  return mixture(net, name, x, experts);
}

std::vector<Tensor> feed(Layers&, const std::string& name, const Tensor&, const NoBranch&) {
  throw std::logic_error(name + " has no feed-forward");
}

Tensor mixed(Layers& net, const std::string& name, const Tensor& x, const DecoderLayer& layer) {
  return std::visit([&](const auto& mixer) { return mix(net, name, x, mixer); }, layer.mixer);
}

std::vector<Tensor> fed(Layers& net, const std::string& name, const Tensor& x, const DecoderLayer& layer) {
  return std::visit([&](const auto& form) { return feed(net, name, x, form); }, layer.feed_forward);
}

bool norms_inputs(NormPlace place) {
  return place == NormPlace::before || place == NormPlace::both;
}

bool norms_outputs(NormPlace place) {
  return place == NormPlace::after || place == NormPlace::both;
}

/// One residual branch of a layer that runs its branches in turn; `number` is "1" or "2".
template <class Branch>
Tensor residual(Layers& net, const std::string& name, const char* number, const Tensor& x,
                const DecoderLayer& layer, const Branch& branch) {
  const auto norm = [&](const char* stem, const Tensor& y) {
    return net.normalised(name + stem + number, y, layer.norm);
  };
  std::vector<Tensor> terms = branch(norms_inputs(layer.place) ? norm(".norm", x) : x);
  if (norms_outputs(layer.place)) {
    const Tensor made = terms.size() == 1 ? terms.front() : net.add(name + ".experts_sum", terms);
    terms = {norm(norms_inputs(layer.place) ? ".after" : ".norm", made)};
  }
  terms.insert(terms.begin(), x);
  const Tensor sum = net.add(name + ".add" + number, terms, layer.dropout);
  return layer.place == NormPlace::sum ? norm(".norm", sum) : sum;
}

Tensor side_by_side(Layers& net, const std::string& name, const Tensor& x, const DecoderLayer& layer) {
  const Tensor normed = net.normalised(name + ".norm1", x, layer.norm);
  std::vector<Tensor> terms = {x, mixed(net, name, normed, layer)};
  const bool shared = layer.order == BranchOrder::shared_norm;
  const Tensor second = shared ? normed : net.normalised(name + ".norm2", x, layer.norm);
  for (Tensor& term : fed(net, name, second, layer)) terms.push_back(std::move(term));
  return net.add(name + ".add", terms, layer.dropout);
}

/// Embedded tokens and, where learned, their positions.
Tensor embedded(Layers& net, const Decoder& decoder) {
  Tensor x = net.embedding("token.embedding", net.indices("token.input", decoder.tokens),
                           {decoder.vocabulary, decoder.width});
  if (decoder.positions > 0) {
    const Tensor places = net.embedding("position.embedding", net.indices("position.input", decoder.tokens),
                                        {decoder.positions, decoder.width});
    x = net.add("embedding.sum", {x, places});
  }
  return decoder.embedding_norm ? net.normalised("embedding.norm", x, decoder.norm) : x;
}

void add_decoder_loss(Layers& net, const std::string& name, const Tensor& logits, const Decoder& decoder) {
  if (decoder.loss != graph::LossKernel::none) net.loss(name, logits, decoder.loss);
}

/// A layer over the last layer's output and the next token, whose embedding and head are the decoder's.
void predict_one_more(Layers& net, const Tensor& x, const Decoder& decoder) {
  const Tensor next = net.embedding("mtp0.token.embedding", net.indices("mtp0.token.input", x.rows()),
                                    {decoder.vocabulary, x.width(), false, "token.embedding"});
  const Tensor first = net.normalised("mtp0.token_norm", next, decoder.norm);
  const Tensor both =
      net.concat("mtp0.concat", {first, net.normalised("mtp0.hidden_norm", x, decoder.norm)}, 1);
  const Tensor y =
      decoder_layer(net, "mtp0.layer", net.linear("mtp0.projection", both, x.width()), *decoder.predicted);
  const Tensor logits =
      net.linear("mtp0.head", net.normalised("mtp0.norm", y, decoder.norm), decoder.vocabulary,
                 {.parameters_of = decoder.tied_head ? "token.embedding" : "head"});
  add_decoder_loss(net, "mtp0.loss", logits, decoder);
}

}  // namespace

Tensor decoder_layer(Layers& net, const std::string& name, const Tensor& x, const DecoderLayer& layer) {
  if (layer.order != BranchOrder::in_turn) return side_by_side(net, name, x, layer);
  const bool mixes = !std::holds_alternative<NoBranch>(layer.mixer),
             feeds = !std::holds_alternative<NoBranch>(layer.feed_forward);
  Tensor out = x;
  if (mixes)
    out = residual(net, name, "1", out, layer,
                   [&](const Tensor& y) { return std::vector{mixed(net, name, y, layer)}; });
  if (feeds)
    out = residual(net, name, "2", out, layer, [&](const Tensor& y) { return fed(net, name, y, layer); });
  return out;
}

graph::OpGraph build_decoder(const std::string& model, int element_bytes, const Decoder& decoder) {
  Layers net(model, element_bytes);
  Tensor x = embedded(net, decoder);
  for (std::size_t i = 0; i < decoder.layers.size(); ++i)
    x = decoder_layer(net, "layer" + std::to_string(i), x, decoder.layers[i]);
  const Tensor last = decoder.final_norm ? net.normalised("norm", x, decoder.norm) : x;
  const Tensor logits =
      net.linear("head", last, decoder.vocabulary,
                 {.bias = decoder.head_bias, .parameters_of = decoder.tied_head ? "token.embedding" : ""});
  add_decoder_loss(net, "loss", logits, decoder);
  if (decoder.predicted) predict_one_more(net, x, decoder);
  return net.build();
}

}  // namespace penstock::models
