#pragma once
// One property of problems, and all of them.

#include <functional>
#include <string>
#include <vector>

#include "properties/problem.hpp"

namespace penstock::properties {

/// Thrown by a check that the problem does not concern.
struct NotConcerned {};

/// Returns "" where the property holds, else what does not, in words.
using Check = std::function<std::string(const BuiltProblem&)>;

struct Property {
  std::string name, meaning;
  Check check;
};

std::vector<Property> of_simulation();
std::vector<Property> of_memory();
std::vector<Property> of_files();
std::vector<Property> of_costs();
std::vector<Property> of_planners();

/// All, by file.
std::vector<Property> all_properties();

/// The plan, or NotConcerned.
const plan::Plan& plan_or_skip(const BuiltProblem& world);

/// Seconds that the simulator's rounding of every pass to a picosecond may take off an iteration.
double rounding(const plan::Plan& plan);

/// Relative difference of sums of picoseconds that are taken for one.
inline constexpr double kSame = 1e-6;

/// "" unless `small` is above `large`; `what` is printed before both numbers.
std::string not_above(double small, double large, const std::string& what, double relative = kSame);
std::string equal(double a, double b, const std::string& what, double relative = kSame);

}  // namespace penstock::properties
