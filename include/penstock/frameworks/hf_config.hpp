#pragma once
// Hugging Face's config.json becomes a model of the zoo with parameters.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::frameworks {

struct HfModel {
  plan::ModelRef model;            ///< of the zoo; its label is the Hub's name for it, or the file's
  std::string architecture;        ///< as the config calls it: "LlamaForCausalLM", or its model type
  std::vector<std::string> notes;  ///< what the zoo leaves out, in words
  /// The name that plan::mixed_precision has for training in the config's dtype; "": it states none.
  std::string precision{};
};

/// Tokens of a sample: exactly so many, or at most so many of those that the config has positions for.
struct SampleTokens {
  std::optional<std::int64_t> exactly{}, at_most{};
};

/// Tokens of a sample where neither config nor user states them, on the command line and in Python.
inline constexpr std::int64_t kUsualTokens = 4096;

/// True if a text is meant as such a config: it has `model_type` or `architectures`, and is none of our own
/// files.
bool is_hf_config(std::string_view text);

/// Values of `model_type` that are read, those of family `decoder` last.
std::vector<std::string> hf_model_types();

/// A config of one of hf_model_types(), as the zoo computes it. `tokens` of a sample, llava's image
/// among them; none: as many as the config has positions. Keys that change nothing here (dropout,
/// initialisation, special tokens, where rotary positions turn to) are read over; every other key is either
/// taken or refused. Throws BadInput naming file, line and key, and what is known. Reasons: an architecture
/// outside the zoo (other experts, encoders with decoders, other ways to join images and text), an unknown
/// key, and a value that would make another network.
HfModel parse_hf_config(const std::string& text, const std::string& file,
                        std::optional<std::int64_t> tokens = {});
HfModel parse_hf_config(const std::string& text, const std::string& file, const SampleTokens& tokens);

}  // namespace penstock::frameworks
