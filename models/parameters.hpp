#pragma once
// Reads the parameters of one model from text or defaults; every error is reported.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue.hpp"
#include "models/lora.hpp"

namespace penstock::models {

// Bounds that keep graphs within a million operators and every sum of bytes within 64 bits.
constexpr std::int64_t kDeepest = 1'000;  ///< layers of a branch
constexpr std::int64_t kBroadest = 256;   ///< branches
constexpr std::int64_t kWidest = 65'536;  ///< widths and lengths
constexpr std::int64_t kMostHeads = 1'024;

/// Declaration of the number size, which every model of the catalogue has.
ParameterInfo element_bytes_parameter();
/// Declaration of the format in which layers multiply, which every model of the catalogue has.
ParameterInfo products_parameter();
/// Declaration of adapters beside frozen weights, which every model of the catalogue has.
ParameterInfo lora_parameter();

/// Declaration of `size` for models with sizes: the choices are their names, and the first is the default.
ParameterInfo size_parameter(const std::vector<SizeInfo>& sizes);

/// All readers throw BadInput naming the model, the parameter and the expected values.
class Parameters {
 public:
  /// Keeps a reference to `model`. Parameters not given take the values of the chosen size. Throws on an
  /// unknown name.
  Parameters(const ModelInfo& model, const std::map<std::string, std::string>& given);

  std::int64_t integer(std::string_view name, std::int64_t low,
                       std::int64_t high) const;                        ///< inclusive bounds
  double number(std::string_view name, double low, double high) const;  ///< inclusive bounds
  std::string word(std::string_view name, const std::vector<std::string>& choices) const;
  bool flag(std::string_view name) const { return word(name, {"yes", "no"}) == "yes"; }
  /// Bytes of every number, from the parameter that all models have (element_bytes_parameter).
  int element_bytes() const { return word("element_bytes", {"4", "2"}) == "2" ? 2 : 4; }
  /// Format in which layers multiply (products_parameter).
  graph::ProductFormat products() const;
  /// Adapters beside frozen weights (lora_parameter). Throws also for frozen weights in 8 or 4 bits of a model with
  /// four-byte numbers.
  LoraForm lora() const;
  /// The number of attention heads: a divisor of `hidden`.
  std::int64_t heads(std::string_view name, std::int64_t hidden) const;
  [[noreturn]] void fail(std::string_view name, const std::string& expected) const;

  const std::string& model() const { return model_.name; }
  /// True if the model has a parameter of that name and its graph does not depend on it.
  bool states(std::string_view name) const;
  const std::string& text(std::string_view name) const;

 private:
  const ModelInfo& model_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace penstock::models
