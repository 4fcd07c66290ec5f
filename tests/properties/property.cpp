#include "properties/property.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace penstock::properties {

std::vector<Property> all_properties() {
  std::vector<Property> out;
  for (auto list : {of_simulation(), of_memory(), of_files(), of_costs(), of_planners()})
    std::ranges::move(list, std::back_inserter(out));
  return out;
}

const plan::Plan& plan_or_skip(const BuiltProblem& world) {
  if (!world.plan()) throw NotConcerned();
  return *world.plan();
}

double rounding(const plan::Plan& plan) {
  constexpr double kPicosecond = 1e-12;
  std::int64_t passes = 0;
  for (const plan::Stage& stage : plan.stages) passes += 4 * (plan.training.mini_batch / stage.micro_batch);
  return kPicosecond * static_cast<double>(passes);
}

std::string not_above(double small, double large, const std::string& what, double relative) {
  if (std::isfinite(small) && small <= large * (1 + relative)) return "";
  return fmt::format("{}: {:.9g} is above {:.9g}", what, small, large);
}

std::string equal(double a, double b, const std::string& what, double relative) {
  if (a == b || std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b))) return "";
  return fmt::format("{}: {:.12g} and {:.12g}", what, a, b);
}

}  // namespace penstock::properties
