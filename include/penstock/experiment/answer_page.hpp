#pragma once
// The answer of one command as an HTML page, like that of a results folder.

#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/compare.hpp"
#include "penstock/report/page.hpp"

namespace penstock::experiment {

/// Page of the plan found, with its drawings, and rows of the next best plans if the search kept some.
/// `problem` is that of the search. `assumed`: text of in_words for the assumptions; may be empty.
report::Page plan_page(const cost::Problem& problem, const AimedPlan& found,
                       const sim::SimulationOptions& simulation, const report::Provenance& provenance,
                       const std::string& assumed = "");

/// Page of a comparison: rows, assumptions, and drawings of every plan as far as the page has room.
report::Page comparison_page(const cost::Problem& problem, const PlannerComparison& comparison,
                             const sim::SimulationOptions& simulation, const report::Provenance& provenance);

}  // namespace penstock::experiment
