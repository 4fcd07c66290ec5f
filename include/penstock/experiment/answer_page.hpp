#pragma once
// The answer of one command as a page, like that of a results folder.

#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/compare.hpp"
#include "penstock/report/page.hpp"

namespace penstock::experiment {

/// A plan that was searched for, with its drawings, and rows of the next best plans where the search kept
/// some; `problem` is the one that the search had. `assumed`: what in_words says of the answer's assumptions;
/// may be empty.
report::Page plan_page(const cost::Problem& problem, const AimedPlan& found,
                       const sim::SimulationOptions& simulation, const report::Provenance& provenance,
                       const std::string& assumed = "");

/// The rows of a comparison, with what they assume and the drawings of every plan as far as a page has room.
report::Page comparison_page(const cost::Problem& problem, const Comparison& comparison,
                             const sim::SimulationOptions& simulation, const report::Provenance& provenance);

}  // namespace penstock::experiment
