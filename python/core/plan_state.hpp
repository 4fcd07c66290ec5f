#pragma once
// A plan with its problem as texts, for another process.

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "values.hpp"

namespace penstock::python {

/// Name and text of a file.
using NamedText = std::pair<std::string, std::string>;
using Parameters = std::map<std::string, std::string>;

/// The plan; the model's name, parameters and graph; the cluster's name, devices, runtime and, of a file,
/// text; the costs' name and text, empty without a file.
using PlanState =
    std::tuple<NamedText, std::string, Parameters, std::string, NamedText, int, std::string, NamedText>;

PlanState state_of(const Plan& plan);
Plan plan_of(const PlanState& state);  ///< without simulation; throws BadInput

}  // namespace penstock::python
