#pragma once
// Parameters of a model that no operator depends on: rotary base, epsilon of norms, dropout, the router's
// rules. No size, FLOP or edge changes with them. Exports to training frameworks need them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue.hpp"

namespace penstock::models {

/// Defaults of a family.
struct StatedDecoder {
  const char* norm_epsilon = "1e-05";
  const char* dropout = "0";
};

/// Declares norm_epsilon, init_std, attention_dropout, hidden_dropout.
std::vector<ParameterInfo> decoder_statements(const StatedDecoder& defaults);
/// Declares positions, rope_base, rope_scaling, and then those of decoder_statements().
std::vector<ParameterInfo> rotary_statements(const char* rope_base, const char* rope_scaling,
                                             const StatedDecoder& defaults);
/// Declares router_normalised, router_scale, router_jitter, router_groups, router_groups_chosen, router_bias,
/// balance_loss, balance_over: those of a softmax router, or of DeepSeek-V3's.
std::vector<ParameterInfo> router_statements(bool deepseek);

/// Stretching of rotary positions beyond the first training length of a model, in the words of Hugging Face's
/// configs.
struct RopeScaling {
  std::string type = "none";              ///< linear, llama3, yarn, ...
  std::map<std::string, double> numbers;  ///< factor, original_max_position_embeddings, ...
  double number(const std::string& key, double otherwise) const;
};

/// Reads "none", or "llama3:factor=8:low_freq_factor=1" with one number or more per type. Throws BadInput for
/// any other text.
RopeScaling parse_rope_scaling(std::string_view text);
/// The text that parse_rope_scaling() reads.
std::string written(const RopeScaling& scaling);

/// Throws BadInput for a value that a parameter of these families cannot have.
void check_stated(const Parameters& p);

}  // namespace penstock::models
