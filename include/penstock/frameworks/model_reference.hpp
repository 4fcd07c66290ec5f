#pragma once
// A file that names a model of the zoo and its parameters, and what else may stand where a model file is
// asked for.

#include <string>
#include <string_view>

#include "penstock/plan/plan.hpp"

namespace penstock::frameworks {

/// YAML that `parse_model_reference` reads back; `comment`, of one line, stands at its head.
std::string to_yaml(const plan::ModelRef& model, const std::string& comment);

/// Whether a text is meant as a reference: `penstock: model_reference` is its first key.
bool is_model_reference(std::string_view text);

/// Keys penstock, version, name and parameters. Throws BadInput naming file, line and key; parameters are
/// checked where the model is built.
plan::ModelRef parse_model_reference(const std::string& text, const std::string& file);

/// What a text names beside model files: a reference's model, or that of a Hugging Face config; the
/// parameters of `given` go before the file's, and its `sequence` is the config's number of tokens. `given`
/// as it is where the text is neither.
plan::ModelRef named_by(const std::string& text, const std::string& file, const plan::ModelRef& given);

}  // namespace penstock::frameworks
