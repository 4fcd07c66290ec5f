#pragma once
// All that a cell's result depends on, in one text.

#include <optional>
#include <string>

#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// JSON: the program, model, cluster, its perturbation, costs and schedule with the digests of their
/// content, planner and its search, training, simulation, memory rule and limits, defaults written out. Equal
/// texts, equal results: a cell's entry in the cache is found by its digest. Of the spec's inputs. Throws
/// BadInput.
std::string resolved(const Spec& spec, const Cell& cell, const std::string& program);

/// The same text as it must stand in the file of that path: its paths are found again from there
/// (core::path_for).
std::string resolved_for(const std::string& file, const std::string& resolved);

/// Of that, what a plan is judged by.
struct Judgement {
  std::optional<std::string> costs;  ///< as load_costs takes it
  sim::SimulationOptions simulation;
  cost::MemoryRule memory;
  std::string setting;
  std::optional<std::string> perturbation{};  ///< file
};
/// Reads resolved_for's text, paths as its folder finds them (core::path_from). Throws BadInput naming the
/// file and the key.
Judgement parse_judgement(const std::string& text, const std::string& file);

}  // namespace penstock::experiment
