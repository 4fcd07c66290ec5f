#pragma once
// Objective that a search minimises, from its Python form.

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

  /// Throws BadInput where the aim lacks a setting that it needs, or has one that it does not use.
  experiment::AimSetting setting(const cluster::Cluster& cluster) const;
};

}  // namespace penstock::python
