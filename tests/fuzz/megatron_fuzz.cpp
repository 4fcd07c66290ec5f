// A launch script of any bytes becomes a plan with every operator once, or is refused; so does a layout.

#include <cstddef>
#include <cstdint>
#include <string>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/frameworks/from_megatron.hpp"
#include "penstock/frameworks/megatron_layout.hpp"

using namespace penstock;

namespace {

void read_layout(const std::string& text) {
  try {
    const auto stages = frameworks::parse_layout(text);
    core::require(frameworks::parse_layout(frameworks::to_layout(stages)) == stages, "a layout reads back");
  } catch (const core::BadInput&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_layout(text.substr(0, text.find('\n')));
  frameworks::MegatronRun run;
  try {
    run = frameworks::from_megatron(text, text.find("--") == text.npos ? "fuzz.yaml" : "fuzz.sh",
                                    {"8xH100", 8}, 8, {});
  } catch (const core::BadInput&) {
    return 0;
  }
  const auto graph = models::build(run.plan.model.name, run.plan.model.parameters);
  std::size_t operators = 0;
  for (const auto& stage : run.plan.stages) operators += stage.operators.size();
  core::require(operators == graph.size(), "stages have every operator once");
  return 0;
}
