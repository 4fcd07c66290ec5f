#pragma once
// A model with mixtures of experts that a test computes by hand.

#include <string>

#include "models/catalogue.hpp"

namespace penstock::support {

/// 8 experts, 24 wide, of which each of 16 tokens, 32 wide, takes 2.
inline graph::OpGraph small_mixture(const std::string& layers, const std::string& shared = "0") {
  return models::build("mixtral", {{"layers", layers},
                                   {"hidden", "32"},
                                   {"heads", "8"},
                                   {"kv_heads", "4"},
                                   {"sequence", "16"},
                                   {"vocabulary", "64"},
                                   {"experts", "8"},
                                   {"chosen", "2"},
                                   {"expert_width", "24"},
                                   {"shared_width", shared}});
}

}  // namespace penstock::support
