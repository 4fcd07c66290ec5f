#pragma once
// Everything that a cell's result depends on, in one text.

#include <optional>
#include <string>

#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// JSON with the program; model, cluster, perturbation, costs and schedule with digests of their content.
/// Also planner and its search, training, simulation, memory rule and limits, with defaults written out.
/// Equal texts mean equal results: the digest of the text is the key of a cell's cache entry. Uses the spec's
/// inputs. Throws BadInput.
std::string resolved(const Spec& spec, const Cell& cell, const std::string& program);

/// Returns the text for the file at that path, so that its paths are resolved from there (core::path_for).
std::string resolved_for(const std::string& file, const std::string& resolved);

/// The subset of resolved() that affects simulation and scoring.
struct ScoringSetting {
  std::optional<std::string> costs;  ///< as load_costs takes it
  sim::SimulationOptions simulation;
  cost::MemoryRule memory;
  std::string setting;
  std::optional<std::string> perturbation{};  ///< file
};
/// Parses the text of resolved_for; paths are resolved from its folder (core::path_from). Throws BadInput
/// naming the file and the key.
ScoringSetting parse_judgement(const std::string& text, const std::string& file);

}  // namespace penstock::experiment
