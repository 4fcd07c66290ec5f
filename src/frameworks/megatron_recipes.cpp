#include "megatron_recipes.hpp"

#include <algorithm>
#include <array>

#include "penstock/core/error.hpp"

namespace penstock::frameworks {
namespace {

using graph::ProductFormat;

struct MegatronRecipe {
  ProductFormat products;
  std::string_view name;
};
/// megatron/core/enums.py, Fp8Recipe and Fp4Recipe; the last one is of 4 bits.
constexpr std::array kRecipes{MegatronRecipe{ProductFormat::fp8_delayed, "delayed"},
                              MegatronRecipe{ProductFormat::fp8_current, "tensorwise"},
                              MegatronRecipe{ProductFormat::fp8_block, "blockwise"},
                              MegatronRecipe{ProductFormat::mxfp8, "mxfp8"},
                              MegatronRecipe{ProductFormat::nvfp4, "nvfp4"}};

}  // namespace

std::string_view megatron_recipe(ProductFormat products) {
  const auto found = std::ranges::find(kRecipes, products, &MegatronRecipe::products);
  core::require(found != kRecipes.end(), "the stored format has no recipe");
  return found->name;
}

std::vector<std::string> megatron_recipes() {
  std::vector<std::string> out;
  for (const MegatronRecipe& recipe : kRecipes)
    if (recipe.products != ProductFormat::nvfp4) out.emplace_back(recipe.name);
  return out;
}

ProductFormat megatron_products(std::string_view recipe) {
  const auto found = std::ranges::find(kRecipes, recipe, &MegatronRecipe::name);
  core::require(found != kRecipes.end(), "a recipe of the list");
  return found->products;
}

}  // namespace penstock::frameworks
