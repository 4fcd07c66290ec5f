#pragma once
// The answer of one command as a page, like that of a results folder.

#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/compare.hpp"
#include "penstock/report/page.hpp"

namespace penstock::experiment {

/// A plan that was searched for, with its drawings; `problem` is the one that the search had.
report::Page plan_page(const cost::Problem& problem, const AimedPlan& found,
                       const sim::SimulationOptions& simulation, const report::Provenance& provenance);

/// The rows of a comparison, with the drawings of every plan as far as a page has room.
report::Page comparison_page(const cost::Problem& problem, const Comparison& comparison,
                             const sim::SimulationOptions& simulation, const report::Provenance& provenance);

}  // namespace penstock::experiment
