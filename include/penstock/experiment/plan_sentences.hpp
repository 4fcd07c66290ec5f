#pragma once
// A plan explained in ten sentences, as a colleague would.

#include <string>
#include <vector>

#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/experiment/what_if.hpp"

namespace penstock::experiment {

struct PlanSentence {
  std::string about;  ///< "stages", "replicas", "batch", "speed", "losses", "path", "memory", "bound",
                      ///< "changes", "frameworks": in this order
  std::string words;
};

struct PlanSentences {
  std::vector<PlanSentence> sentences;
  std::vector<WhatIfRow> changes;  ///< simulated for the ninth sentence; the first row is today's
};

/// `input` is complete. `outcome`: simulated with these options. Simulates the plan a few times more.
PlanSentences plan_sentences(const PlanInput& input, const CellOutcome& outcome,
                             const sim::SimulationOptions& simulation);

/// Numbered sentences in lines of at most `width` cells.
std::string in_lines(const PlanSentences& explained, std::size_t width);
/// An object with `sentences` (about, words) and `what_if` (as plan_json).
std::string to_json(const PlanSentences& explained);

}  // namespace penstock::experiment
