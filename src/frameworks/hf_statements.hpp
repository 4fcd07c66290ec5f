#pragma once
// Keys of a config that no operator depends on, and that exports need (models/stated.hpp).

#include <map>
#include <string>

#include "config_keys.hpp"

namespace penstock::frameworks {

/// Defaults of transformers' configuration class of an architecture.
struct HfRotaryDefaults {
  double rope_theta = 10'000, epsilon = 1e-6;
};
struct HfRouterDefaults {
  double balance_loss = 0.001;
  bool normalised = false;
};

/// Adds positions, rope_base, rope_scaling, norm_epsilon, init_std and attention_dropout of a decoder with
/// rotary positions and no dropout behind its layers.
void read_rotary_statements(ConfigKeys& keys, const HfRotaryDefaults& usual,
                            std::map<std::string, std::string>& out);
/// Adds norm_epsilon, init_std, attention_dropout and hidden_dropout of GPT-2 or OPT.
void read_gpt2_statements(ConfigKeys& keys, std::map<std::string, std::string>& out);
void read_opt_statements(ConfigKeys& keys, std::map<std::string, std::string>& out);
/// Adds how a softmax router weighs and balances experts.
void read_router_statements(ConfigKeys& keys, const HfRouterDefaults& usual,
                            std::map<std::string, std::string>& out);
/// Adds how DeepSeek's router does; `third`: V3's, whose experts have biases.
void read_deepseek_router(ConfigKeys& keys, bool third, std::map<std::string, std::string>& out);

/// Short text of `rope_scaling` or `rope_parameters`, as models::written() makes it.
std::string rope_scaling_text(ConfigKeys& keys);
/// Base of rotary positions; of several by layer type, `usual`.
double rope_base(ConfigKeys& keys, double usual);
/// The shortest text of a number.
std::string number_text(double number);

/// Takes away what equals the family's default and computes nothing.
void leave_out_usual(const std::string& family, std::map<std::string, std::string>& out);

}  // namespace penstock::frameworks
