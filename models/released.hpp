#pragma once
// Released networks by their own names, such as llama3-70b, for users who do not use the zoo's families.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::models {

/// A size of a family that is named like the released network.
struct ReleasedModel {
  std::string name;    ///< "llama3-70b"
  std::string family;  ///< "llama": build(family, {{"size", name}}) makes it
};

/// Every size with such a name, family by family. A size called "base" or "large" is left out.
const std::vector<ReleasedModel>& released_models();

/// nullptr for a name that is no released model's.
const ReleasedModel* released_model(std::string_view name);

/// Names of families, then of released models: all that a user may type.
std::vector<std::string> known_names();

}  // namespace penstock::models
