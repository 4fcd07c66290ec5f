// A config or a model reference of any bytes names a model of the zoo or is refused; a reference reads back.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "penstock/frameworks/model_reference.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  frameworks::NamedModel named;
  try {
    if (frameworks::is_model_reference(text)) {
      named = frameworks::parse_model_reference(text, "fuzz");
    } else {
      auto read = frameworks::parse_hf_config(text, "fuzz", size % 2 ? 4 : 4096);
      named = {std::move(read.model), std::move(read.precision)};
    }
  } catch (const core::BadInput&) {
    return 0;
  }
  const plan::ModelRef& model = named.model;
  core::require(!model.name.empty(), "a model has a name");
  if (frameworks::is_model_reference(text)) return 0;
  const auto again = frameworks::parse_model_reference(frameworks::to_yaml(named, "again"), "again");
  core::require(again.model.name == model.name && again.model.parameters == model.parameters &&
                    again.model.label == model.label && again.precision == named.precision,
                "a reference reads back");
  return 0;
}
