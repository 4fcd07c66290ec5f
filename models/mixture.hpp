#pragma once
// The feed-forward of a mixture-of-experts decoder: a router, its experts, and a shared one for every token.

#include <string>

#include "models/layers.hpp"
#include "models/parameters.hpp"

namespace penstock::models {

struct Mixture {
  std::int64_t experts, chosen, width;  ///< `width` of an expert, gate and up projection each
  std::int64_t shared = 0;              ///< width of the feed-forward that every token takes; 0: none
  bool shared_gate = false;             ///< a sigmoid of the token multiplies the shared output (Qwen2)
  bool bias = false, clamped = false;   ///< of experts (GPT-OSS): graph::Experts
  bool gated = true;         ///< experts, and the shared one, with gate and up projection; else GELU
  bool router_bias = false;  ///< a bias of the router's matrix (GPT-OSS)
  bool shared_bias = false;  ///< biases of the feed-forward that every token takes
  bool sigmoid = false;      ///< scores of the router by sigmoid (DeepSeek-V3), not by softmax
};

/// Reads parameters experts, chosen, expert_width and shared_width.
Mixture read_mixture(const Parameters& p);
/// Declarations of these parameters, with defaults from `defaults`.
std::vector<ParameterInfo> mixture_parameters(const Mixture& defaults);

/// Returns the terms of a sum: the output of the experts, and of the shared feed-forward if there is one.
/// Operators are <name>.router, .scores, .experts and .shared.*. Balancing experts in training, by a bias of
/// their scores or a term of the loss, is no operator here.
std::vector<Tensor> mixture(Layers& net, const std::string& name, const Tensor& x, const Mixture& m);

}  // namespace penstock::models
