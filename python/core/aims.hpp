#pragma once
// What a search makes least, as Python says it.

#include <cstdint>
#include <optional>
#include <string>

#include "bind.hpp"
#include "penstock/experiment/aim.hpp"

namespace penstock::python {

struct AimWords {
  std::string name = "time";
  std::optional<std::string> perturbation;                 ///< a file, of p95
  std::int64_t seed = 0, seeds = experiment::kUsualSeeds;  ///< of p95
  std::optional<double> slower;                            ///< percent, of memory; none: 10

  /// Throws BadInput where the aim lacks what it needs, or is told what it has no use for.
  experiment::AimSetting setting(const cluster::Cluster& cluster) const;
};

}  // namespace penstock::python
