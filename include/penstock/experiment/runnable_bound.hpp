#pragma once
// Lower bound for the plans that a training framework can run.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "penstock/cost/problem.hpp"
#include "penstock/score/uniform_bound.hpp"

namespace penstock::experiment {

/// How long a bound may take.
enum class BoundEffort : std::uint8_t {
  none,        ///< it is not wanted
  short_wait,  ///< about a second, or it is left out
  any_wait
};

struct RunnableBound {
  std::string framework;                    ///< its title
  std::size_t degrees = 0;                  ///< sets of degrees that divide the devices
  std::optional<score::UniformBound> best;  ///< set with the least bound; none: nothing fits
  core::Bytes least_memory{};               ///< that a device needs at least, by the set that needs least
  score::UniformDegrees least_degrees{};    ///< that set
  bool skipped = false;                     ///< it would have taken too long
};

/// Throws BadInput with the option that needs a bound and the reason why there is none.
void check_bounded(const std::string& option, const std::string& framework, const cost::Problem& problem);

/// Bounds all plans on all devices that `framework` can run (score::uniform_bounds). Nothing where
/// check_bounded would throw. `check` may throw to end it.
std::optional<RunnableBound> runnable_bound(const std::string& framework, const cost::Problem& problem,
                                            BoundEffort effort, const std::function<void()>& check);

/// One line for people; `iteration_s` is that of a plan that was found.
std::string in_words(const RunnableBound& bound, double iteration_s);
/// Why no plan of the framework fits; empty if some set of degrees may.
std::string no_fit_in_words(const RunnableBound& bound);

}  // namespace penstock::experiment
