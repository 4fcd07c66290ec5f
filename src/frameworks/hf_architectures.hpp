#pragma once
// Architectures of Hugging Face, and how the config of each reads as a family of the zoo.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_keys.hpp"

namespace penstock::frameworks {

using Parameters = std::map<std::string, std::string>;

struct HfArchitecture {
  std::string_view model_type;
  std::string family;                     ///< of the zoo
  std::vector<std::string_view> classes;  ///< the first is what the zoo computes
  std::string_view instead;               ///< what the zoo has in place of the others' ends
  /// Defaults of keys left out are those of transformers' configuration classes.
  std::function<void(ConfigKeys&, std::optional<std::int64_t> tokens, Parameters&)> read;
  std::string_view note = {};  ///< what the zoo computes otherwise, always printed
  /// Defaults of transformers' configuration class (5.24), for keys that may be left out. A vocabulary, a width,
  /// layers and heads are always stated.
  ConfigDefaults defaults = {};
};

/// Tanh's approximation and the others cost what GELU does.
inline const std::vector<std::string> kGelu = {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh",
                                               "quick_gelu"};

/// LLaVA-1.5's kind: `tokens` are those of image and text together.
void read_llava(ConfigKeys&, std::optional<std::int64_t> tokens, Parameters&);

const std::vector<HfArchitecture>& hf_architectures();

}  // namespace penstock::frameworks
