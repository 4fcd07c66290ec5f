#pragma once
// Rule by which an optimizer changes a parameter.

#include <cstdint>

namespace penstock::kernels {

/// With gradient g at step t = 1, 2, ... and state zero at first:
///   sgd       w -= rate g
///   momentum  m = momentum m + g;  w -= rate m
///   adam      m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
///             w -= rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// Adam: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1.
struct UpdateRule {
  enum class RuleKind : std::uint8_t { sgd, momentum, adam };
  RuleKind kind = RuleKind::sgd;
  float rate = 0.001f;
  float momentum = 0.9f;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};

}  // namespace penstock::kernels
