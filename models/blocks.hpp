#pragma once
// Groups of layers that several Transformer families share.

#include <string>
#include <string_view>
#include <vector>

#include "models/layers.hpp"
#include "models/parameters.hpp"

namespace penstock::models {

/// A stack of "bare" Transformer layers as in the models of the GraphPipe authors: attention, a dense layer
/// with ReLU and a dense layer back. It has no bias, norm, residual or dropout ("marginal in compute cost",
/// their code).
struct BareStack {
  std::int64_t layers, hidden, heads, feed_forward;
};

/// Reads parameters <prefix>layers, hidden, heads, feed_forward (0: hidden).
BareStack read_bare_stack(const Parameters& p, const std::string& prefix = "");
/// Declarations of these parameters, with defaults from `defaults`.
std::vector<ParameterInfo> bare_parameters(const BareStack& defaults, const std::string& prefix = "");
/// Three operators per layer: <name>.layer<i>.{attention, dense1, dense2}.
Tensor bare_stack(Layers& net, const std::string& name, Tensor x, const BareStack& stack);
/// One branch: an input of `sequence` embedded tokens and a stack.
Tensor bare_branch(Layers& net, const std::string& name, std::int64_t sequence, const BareStack& stack);

/// Reads parameters branches, sequence and the stack's; equal branches named branch<i>, then one concat.
graph::OpGraph bare_branches(const Parameters& p);
std::vector<ParameterInfo> bare_branches_parameters(const std::string& branches, const BareStack& defaults);

/// Dense layers with ReLU, without bias, all of one width: <name>.dense<i>.
Tensor dense_layers(Layers& net, const std::string& name, Tensor x, std::int64_t layers, std::int64_t width);

/// Self-attention, in the form that a model's parameter `attention` names. `split` uses seven
/// operators for projections, scores, softmax and context; the other forms are one operator (AttentionCore).
/// The seven operators have no mask: they compute every pair.
Tensor self_attention(Layers& net, const std::string& name, const Tensor& x, std::int64_t heads,
                      const std::string& how, AttentionMask mask = AttentionMask::none, bool dropout = false,
                      bool biases = true);
std::string read_attention(const Parameters& p);
/// Core of the forms that are one operator.
AttentionCore attention_core(const std::string& how);
ParameterInfo attention_parameter(const std::string& otherwise);
/// Parameter `mask` of decoders: causal or none.
AttentionMask read_mask(const Parameters& p);
ParameterInfo mask_parameter();
/// Kernel of the cross entropy that a parameter names; none: it names none.
graph::LossKernel read_loss(const Parameters& p, std::string_view parameter = "loss");
/// Appends that cross entropy, if any.
void add_loss(Layers& net, const Parameters& p, const std::string& name, const Tensor& logits);
ParameterInfo loss_parameter();
/// Two dense layers with `middle` between: fused if it is ReLU, otherwise an operator of its own.
/// SwiGLU has gate and up as one layer of twice the width.
/// `weights`: numbers that the activation trains.
Tensor feed_forward(Layers& net, const std::string& name, const Tensor& x, std::int64_t width,
                    Activation middle, bool biases = true, std::int64_t weights = 0);

struct PreNorm {
  std::int64_t heads, width;  ///< between the two dense layers
  std::string attention;      ///< as in self_attention
  Activation middle;
  AttentionMask mask = AttentionMask::none;
  bool dropout = false;  ///< of shares, and of what either branch adds
  bool biases = true;    ///< of dense layers and projections
};
/// The layer of GPT-2 and ViT: norms come before attention and feed-forward, inside the residual branch.
/// Operators are named <name>.norm1, .attention, .add1, .norm2, .dense1, .activation, .dense2, .add2.
Tensor pre_norm_layer(Layers& net, const std::string& name, const Tensor& x, const PreNorm& sizes);

}  // namespace penstock::models
