#pragma once
// Names that Megatron-LM's --fp8-recipe and --fp4-recipe have for formats of products.

#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph/product_format.hpp"

namespace penstock::frameworks {

/// Recipe of a format that is not the stored one.
std::string_view megatron_recipe(graph::ProductFormat products);
/// Recipes of --fp8-recipe.
std::vector<std::string> megatron_recipes();
/// Format of a recipe of megatron_recipes().
graph::ProductFormat megatron_products(std::string_view recipe);

}  // namespace penstock::frameworks
