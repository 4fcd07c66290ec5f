#include "models/blocks.hpp"

namespace penstock::models {

BareStack read_bare_stack(const Parameters& p, const std::string& prefix) {
  BareStack stack{};
  stack.layers = p.integer(prefix + "layers", 1, kDeepest);
  stack.hidden = p.integer(prefix + "hidden", 1, kWidest);
  stack.heads = p.heads(prefix + "heads", stack.hidden);
  stack.feed_forward = p.integer(prefix + "feed_forward", 0, kWidest);
  if (stack.feed_forward == 0) stack.feed_forward = stack.hidden;
  return stack;
}

std::vector<ParameterInfo> bare_parameters(const BareStack& defaults, const std::string& prefix) {
  return {{prefix + "layers", std::to_string(defaults.layers), "layers of a branch"},
          {prefix + "hidden", std::to_string(defaults.hidden), "width of a token"},
          {prefix + "heads", std::to_string(defaults.heads), "attention heads; divides hidden"},
          {prefix + "feed_forward", std::to_string(defaults.feed_forward),
           "width between the two dense layers; 0: hidden"}};
}

Tensor bare_stack(Layers& net, const std::string& name, Tensor x, const BareStack& stack) {
  for (std::int64_t i = 0; i < stack.layers; ++i) {
    const std::string layer = name + ".layer" + std::to_string(i);
    x = net.attention(layer + ".attention", x, x, x, stack.heads);
    x = net.linear(layer + ".dense1", x, stack.feed_forward, {.fused = Activation::relu});
    x = net.linear(layer + ".dense2", x, stack.hidden);
  }
  return x;
}

Tensor bare_branch(Layers& net, const std::string& name, std::int64_t sequence, const BareStack& stack) {
  return bare_stack(net, name, net.input(name + ".input", {sequence, stack.hidden}), stack);
}

graph::OpGraph bare_branches(const Parameters& p) {
  const std::int64_t branches = p.integer("branches", 1, kBroadest);
  const std::int64_t sequence = p.integer("sequence", 1, kWidest);
  const BareStack stack = read_bare_stack(p);
  Layers net(p.model(), p.element_bytes());
  std::vector<Tensor> ends;
  for (std::int64_t i = 0; i < branches; ++i)
    ends.push_back(bare_branch(net, "branch" + std::to_string(i), sequence, stack));
  net.concat("concat", ends, 1);
  return net.build();
}

std::vector<ParameterInfo> bare_branches_parameters(const std::string& branches, const BareStack& defaults) {
  std::vector<ParameterInfo> all = {{"branches", branches, "parallel branches"},
                                    {"sequence", "256", "tokens of a sample in each branch"}};
  for (ParameterInfo& parameter : bare_parameters(defaults)) all.push_back(std::move(parameter));
  return all;
}

Tensor dense_layers(Layers& net, const std::string& name, Tensor x, std::int64_t layers, std::int64_t width) {
  for (std::int64_t i = 0; i < layers; ++i)
    x = net.linear(name + ".dense" + std::to_string(i), x, width, {.fused = Activation::relu});
  return x;
}

namespace {

Tensor split_attention(Layers& net, const std::string& name, const Tensor& x, std::int64_t heads,
                       bool biases) {
  const std::int64_t tokens = x.rows(), hidden = x.width(), head = hidden / heads;
  const Tensor query = net.linear(name + ".query", x, hidden, {.bias = biases});
  const Tensor key = net.linear(name + ".key", x, hidden, {.bias = biases});
  const Tensor value = net.linear(name + ".value", x, hidden, {.bias = biases});
  const Tensor scores =
      net.matmul(name + ".scores", query, key, {heads, tokens, head, tokens}, {heads, tokens, tokens});
  const Tensor shares = net.softmax(name + ".softmax", scores);
  const Tensor context =
      net.matmul(name + ".context", shares, value, {heads, tokens, tokens, head}, {tokens, hidden});
  return net.linear(name + ".output", context, hidden, {.bias = biases});
}

}  // namespace

Tensor self_attention(Layers& net, const std::string& name, const Tensor& x, std::int64_t heads,
                      const std::string& how, AttentionMask mask, bool dropout, bool biases) {
  if (how == "split") return split_attention(net, name, x, heads, biases);
  return net.attention(name, x, x, x, heads,
                       {.bias = biases, .core = attention_core(how), .mask = mask, .dropout = dropout});
}

AttentionCore attention_core(const std::string& how) {
  return how == "plain"   ? AttentionCore::plain
         : how == "flash" ? AttentionCore::flash
                          : AttentionCore::counted;
}

std::string read_attention(const Parameters& p) {
  return p.word("attention", {"fused", "split", "plain", "flash"});
}

ParameterInfo attention_parameter(const std::string& otherwise) {
  return {"attention", otherwise,
          "split: seven operators per attention; else one: fused, which counts its scores once; plain, which "
          "runs "
          "kernel by kernel; flash, which never stores them"};
}

AttentionMask read_mask(const Parameters& p) {
  return p.word("mask", {"causal", "none"}) == "causal" ? AttentionMask::causal : AttentionMask::none;
}

ParameterInfo mask_parameter() {
  return {"mask", "causal",
          "causal: a token attends to itself and those before it, which halves the model FLOPs of scores and "
          "the time of flash kernels; none: to all"};
}

graph::LossKernel read_loss(const Parameters& p, std::string_view parameter) {
  using graph::LossKernel;
  const std::string kernel = p.word(parameter, {"no", "yes", "native", "te", "torch"});
  return kernel == "no"       ? LossKernel::none
         : kernel == "native" ? LossKernel::native
         : kernel == "te"     ? LossKernel::te
         : kernel == "torch"  ? LossKernel::torch
                              : LossKernel::in_place;
}

void add_loss(Layers& net, const Parameters& p, const std::string& name, const Tensor& logits) {
  if (const graph::LossKernel kernel = read_loss(p); kernel != graph::LossKernel::none)
    net.loss(name, logits, kernel);
}

ParameterInfo loss_parameter() {
  return {
      "loss", "no",
      "yes: ends in the cross entropy over the vocabulary, with Megatron-LM's kernels, which hold 6 bytes "
      "per logit of 2; native: its fused ones, 10; te: Transformer Engine's, 2; torch: PyTorch's, 12"};
}

Tensor feed_forward(Layers& net, const std::string& name, const Tensor& x, std::int64_t width,
                    Activation middle, bool biases, std::int64_t weights) {
  if (middle == Activation::swiglu) {
    const Tensor both = net.linear(name + ".dense1", x, 2 * width, {.bias = biases});
    return net.linear(name + ".dense2", net.swiglu(name + ".activation", both), x.width(), {.bias = biases});
  }
  const bool fuse = middle == Activation::relu;
  Tensor wide =
      net.linear(name + ".dense1", x, width, {.bias = biases, .fused = fuse ? middle : Activation::none});
  if (!fuse) wide = net.activation(name + ".activation", wide, middle, weights);
  return net.linear(name + ".dense2", wide, x.width(), {.bias = biases});
}

Tensor pre_norm_layer(Layers& net, const std::string& name, const Tensor& x, const PreNorm& sizes) {
  const Tensor attended =
      self_attention(net, name + ".attention", net.layer_norm(name + ".norm1", x), sizes.heads,
                     sizes.attention, sizes.mask, sizes.dropout, sizes.biases);
  const Tensor middle = net.add(name + ".add1", {x, attended}, sizes.dropout);
  const Tensor normed = net.layer_norm(name + ".norm2", middle);
  return net.add(name + ".add2",
                 {middle, feed_forward(net, name, normed, sizes.width, sizes.middle, sizes.biases)},
                 sizes.dropout);
}

}  // namespace penstock::models
