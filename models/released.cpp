#include "models/released.hpp"

#include <algorithm>
#include <cctype>

#include "models/catalogue.hpp"

namespace penstock::models {
namespace {

/// Words such as "base" name a size only beside its family.
bool tells_the_network(std::string_view size) {
  return size.find('-') != std::string_view::npos ||
         std::ranges::any_of(size, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

const std::vector<ReleasedModel>& released_models() {
  static const std::vector<ReleasedModel> all = [] {
    std::vector<ReleasedModel> out;
    for (const ModelInfo& family : catalogue())
      for (const SizeInfo& size : family.sizes)
        if (tells_the_network(size.name)) out.push_back({size.name, family.name});
    return out;
  }();
  return all;
}

const ReleasedModel* released_model(std::string_view name) {
  const auto found = std::ranges::find(released_models(), name, &ReleasedModel::name);
  return found == released_models().end() ? nullptr : &*found;
}

std::vector<std::string> known_names() {
  std::vector<std::string> out;
  for (const ModelInfo& family : catalogue()) out.push_back(family.name);
  for (const ReleasedModel& model : released_models()) out.push_back(model.name);
  return out;
}

}  // namespace penstock::models
