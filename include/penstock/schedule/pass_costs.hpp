#pragma once
// What the passes of a schedule take: one set of times for all stages.

#include <optional>

#include "penstock/core/units.hpp"

namespace penstock::schedule {

/// Abstract schedules count in unit steps; one is this long, so that halves and thirds of it are exact
/// enough.
inline constexpr core::Picoseconds kUnitStep{1'000'000'000'000};

/// Times of one stage, that is of one chunk where a rank holds several.
struct PassCosts {
  core::Picoseconds forward = kUnitStep;          ///< F
  core::Picoseconds input_gradient = kUnitStep;   ///< I
  core::Picoseconds weight_gradient = kUnitStep;  ///< W; a full backward takes I + W
  core::Picoseconds delay{0};                     ///< C: from a pass's end to its use on another rank
  std::optional<core::Picoseconds> recompute{};   ///< R; a forward's when not given
  core::Picoseconds step{0};                      ///< the optimizer's, of one stage
};

}  // namespace penstock::schedule
