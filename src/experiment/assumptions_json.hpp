#pragma once

#include <nlohmann/json_fwd.hpp>

#include "penstock/experiment/assumptions.hpp"

namespace penstock::experiment {

/// JSON such as {"precision": {"value": "mixed_bf16", "assumed": true, "option": "--precision"}}.
nlohmann::ordered_json to_json(const Assumptions& assumptions);

}  // namespace penstock::experiment
