#pragma once
// Values of a model's parameters in files.

#include <string>

#include "penstock/core/yaml.hpp"

namespace penstock::plan {

/// The text of a value. A switch of the zoo is yes or no; YAML programs read these as true and false and
/// write them so (PyYAML): both are taken, without quotes.
inline std::string model_value(const core::Yaml& value) {
  const std::string text = value.text();
  if (value.plain() && text == "true") return "yes";
  if (value.plain() && text == "false") return "no";
  return text;
}

}  // namespace penstock::plan
