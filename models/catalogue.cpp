#include "models/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/families.hpp"
#include "models/lora.hpp"
#include "models/parameters.hpp"
#include "models/quantized.hpp"
#include "models/released.hpp"
#include "models/stated.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/graph/canonical.hpp"

namespace penstock::models {

namespace {

std::vector<ModelInfo> families() {
  // clang-format off
  return {
      mmt(),
      dlrm(),
      candle_uno(),
      case_study(),
      clip(),
      transformer(),
      bert(),
      gpt(),
      llama(),
      mixtral(),
      deepseek_v3(),
      opt(),
      gpt_neox(),
      decoder(),
      encoder_decoder(),
      resnet50(),
      vgg16(),
      vit(),
      vlm(),
      dit(),
      inception_v3(),
  };
  // clang-format on
}

}  // namespace

const std::vector<ModelInfo>& catalogue() {
  static const std::vector<ModelInfo> all = [] {
    std::vector<ModelInfo> out = families();
    for (ModelInfo& model : out) {
      if (!model.sizes.empty())
        model.parameters.insert(model.parameters.begin(), size_parameter(model.sizes));
      model.parameters.push_back(element_bytes_parameter());
      model.parameters.push_back(products_parameter());
      model.parameters.push_back(lora_parameter());
    }
    return out;
  }();
  return all;
}

bool is_language_model(std::string_view name) {
  return has_parameter(name, "vocabulary");
}

namespace {

const ParameterInfo* parameter_of(std::string_view name, std::string_view parameter) {
  const auto model = std::ranges::find(catalogue(), name, &ModelInfo::name);
  if (model == catalogue().end()) return nullptr;
  const auto found = std::ranges::find(model->parameters, parameter, &ParameterInfo::name);
  return found == model->parameters.end() ? nullptr : &*found;
}

}  // namespace

bool has_parameter(std::string_view name, std::string_view parameter) {
  return parameter_of(name, parameter) != nullptr;
}

std::string default_of(std::string_view name, std::string_view parameter) {
  const ParameterInfo* found = parameter_of(name, parameter);
  return found ? found->default_value : "";
}

graph::OpGraph build(std::string_view name, const std::map<std::string, std::string>& parameters) {
  for (const ModelInfo& model : catalogue()) {
    if (model.name == name) {
      const Parameters given(model, parameters);
      check_stated(given);
      return graph::canonical(quantized(with_lora(model.build(given), given.lora()), given.products()));
    }
  }
  throw core::BadInput(fmt::format("unknown model '{}'; {} (penstock models lists all)", name,
                                   core::did_you_mean_name(name, known_names())));
}

}  // namespace penstock::models
