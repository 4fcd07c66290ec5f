#pragma once
// The model zoo's front door: which networks there are, what can be set about each, and how to build one.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::models {

class Parameters;

/// One thing that can be set about a model.
struct ParameterInfo {
  std::string name;
  std::string default_value;  ///< in the text form a user would write
  std::string meaning;
  bool computes = true;  ///< false: the graph does not depend on it (models/stated.hpp)
};

/// A published network of the family: what it sets, under its name.
struct SizeInfo {
  std::string name;
  std::map<std::string, std::string> parameters;
};

struct ModelInfo {
  std::string name;
  std::string summary;  ///< one line
  std::string source;   ///< where shape and sizes come from
  std::vector<ParameterInfo> parameters;
  graph::OpGraph (*build)(const Parameters&);
  std::vector<SizeInfo>
      sizes{};  ///< of the parameter `size`, which the catalogue adds; the first one is the defaults'
};

/// Every model, in the order of models/README.md.
const std::vector<ModelInfo>& catalogue();

/// Whether a model reads words: it states a vocabulary. False for a name that is no model's.
bool is_language_model(std::string_view name);

/// Builds the operator graph of model `name`; parameters not given take their defaults.
/// Throws BadInput naming the model, the parameter and what was expected.
graph::OpGraph build(std::string_view name, const std::map<std::string, std::string>& parameters = {});

}  // namespace penstock::models
