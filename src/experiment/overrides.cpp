#include "overrides.hpp"

#include <fmt/format.h>

namespace penstock::experiment {

void apply(const Overrides& overrides, core::Yaml& root) {
  for (const std::string& text : overrides) try {
      const auto equals = text.find('=');
      if (equals == text.npos || equals == 0) throw core::BadInput("expected KEY=VALUE");
      root.set(std::string_view(text).substr(0, equals), text.substr(equals + 1));
    } catch (const core::BadInput& e) {
      throw core::BadInput(fmt::format("--set {}: {}", text, e.what()));
    }
}

}  // namespace penstock::experiment
