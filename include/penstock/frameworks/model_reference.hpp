#pragma once
// A file that names a model of the zoo and its parameters; and other files that may replace a model file.

#include <string>
#include <string_view>

#include "penstock/plan/plan.hpp"

namespace penstock::frameworks {

/// A model that a file names.
struct NamedModel {
  plan::ModelRef model;
  std::string precision{};    ///< of plan::mixed_precision, that the file states; "": none
  bool tokens_stated = true;  ///< false: tokens of a sample are a default
};

/// YAML that `parse_model_reference` reads back; `comment`, of one line, is at its head.
std::string to_yaml(const NamedModel& named, const std::string& comment);

/// True if a text is meant as a reference: `penstock: model_reference` is its first key.
bool is_model_reference(std::string_view text);

/// Keys penstock, version, name, label, precision and parameters. Throws BadInput naming file, line and key;
/// parameters are checked where the model is built.
NamedModel parse_model_reference(const std::string& text, const std::string& file);

/// Model that a text names beside model files: a reference's, or that of a Hugging Face config. The
/// parameters of `given` go before the file's, and its `sequence` is the config's number of tokens. `given`
/// as it is where the text is neither.
plan::ModelRef named_by(const std::string& text, const std::string& file, const plan::ModelRef& given);
/// Calls named_by() with at most so many tokens of a sample where a config does not state how many.
NamedModel named_by(const std::string& text, const std::string& file, const plan::ModelRef& given,
                    std::int64_t most_tokens);

}  // namespace penstock::frameworks
