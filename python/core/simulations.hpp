#pragma once
// A plan run once in simulation.

#include <optional>
#include <string>

#include "penstock/core/stop.hpp"
#include "values.hpp"

namespace penstock::python {

/// What a simulation is told beside the plan.
struct SimulationSetting {
  std::string network = "fair", collective = "closed_form", pass_collectives = "closed_form";
  sim::SimulationOptions options() const;  ///< throws BadInput for unknown names
};

/// Simulates one iteration; with another schedule when one is named. Throws as `penstock simulate`.
Simulation simulated(const Plan& plan, const std::optional<std::string>& schedule,
                     const SimulationSetting& setting, bool verify, bool explain, core::StopToken stop);

}  // namespace penstock::python
