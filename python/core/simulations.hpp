#pragma once
// A plan run once in simulation.

#include <optional>
#include <string>

#include "penstock/core/stop.hpp"
#include "values.hpp"

namespace penstock::python {

/// Settings of a simulation beside the plan.
struct SimulationSetting {
  std::string network = "fair", collective = "closed_form", pass_collectives = "closed_form",
              communication = "free";
  sim::SimulationOptions options() const;  ///< throws BadInput for unknown names
};

/// Parts of a simulation beside its figures.
struct SimulationParts {
  bool verify = false, explain = false, traffic = false;
};

/// Simulates one iteration; with another schedule when one is named. Throws as `penstock simulate`.
Simulation simulated(const Plan& plan, const std::optional<std::string>& schedule,
                     const SimulationSetting& setting, const SimulationParts& parts, core::StopToken stop);

}  // namespace penstock::python
