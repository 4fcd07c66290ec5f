#pragma once
// Durations of the passes of a schedule: one set of times for all stages.

#include <optional>

#include "penstock/core/units.hpp"

namespace penstock::schedule {

/// Duration of a unit step, in which abstract schedules count; halves and thirds of it are accurate enough.
inline constexpr core::Picoseconds kUnitStep{1'000'000'000'000};

/// Times of one stage; of one chunk if a rank has several.
struct PassCosts {
  core::Picoseconds forward = kUnitStep;          ///< F
  core::Picoseconds input_gradient = kUnitStep;   ///< I
  core::Picoseconds weight_gradient = kUnitStep;  ///< W; a full backward takes I + W
  core::Picoseconds delay{0};                     ///< C: from the end of a pass to its use on another rank
  std::optional<core::Picoseconds> recompute{};   ///< R; default: the time of a forward
  core::Picoseconds step{0};                      ///< update of one stage by the optimizer
};

}  // namespace penstock::schedule
