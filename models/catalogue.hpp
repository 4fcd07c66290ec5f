#pragma once
// Interface of the model zoo: its networks, their parameters, and how to build one.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::models {

class Parameters;

/// One parameter of a model.
struct ParameterInfo {
  std::string name;
  std::string default_value;  ///< in the text form a user writes
  std::string meaning;
  bool computes = true;  ///< false if the graph does not depend on it (models/stated.hpp)
};

/// A published network of the family: its name and the parameters that it sets.
struct SizeInfo {
  std::string name;
  std::map<std::string, std::string> parameters;
};

struct ModelInfo {
  std::string name;
  std::string summary;  ///< one line
  std::string source;   ///< source of shape and sizes
  std::vector<ParameterInfo> parameters;
  graph::OpGraph (*build)(const Parameters&);
  std::vector<SizeInfo>
      sizes{};  ///< of the parameter `size`, which the catalogue adds; the first one gives the defaults
};

/// Every model, in the order of models/README.md.
const std::vector<ModelInfo>& catalogue();

/// True if a model reads words, so has a vocabulary; false for an unknown name.
bool is_language_model(std::string_view name);

/// True if a family of the zoo has the parameter; false for other names.
bool has_parameter(std::string_view name, std::string_view parameter);

/// A parameter's default in a family of the zoo; "" where there is none.
std::string default_of(std::string_view name, std::string_view parameter);

/// Builds the operator graph of model `name`; parameters not given take their defaults. Throws BadInput
/// naming the model, the parameter and the expected values.
graph::OpGraph build(std::string_view name, const std::map<std::string, std::string>& parameters = {});

}  // namespace penstock::models
