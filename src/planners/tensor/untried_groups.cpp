#include "penstock/planners/untried_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/mesh_sizes.hpp"

namespace penstock::planners {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 20;  ///< groups of any size

const PlannerOption* find_option(const PlannerInfo& info, const std::string& name) {
  const auto found = std::ranges::find(info.options, name, &PlannerOption::name);
  return found == info.options.end() ? nullptr : &*found;
}

/// Maximum group size that the choice allows; 1 if the planner has no such option.
std::int64_t allowed(const PlannerOption* option, const PlannerChoice& choice) {
  if (option == nullptr) return 1;
  const auto given = choice.options.find(option->name);
  return std::stoll(given == choice.options.end() ? option->standard : given->second);
}

}  // namespace

std::vector<UntriedGroups> untried_groups(const cost::Problem& problem, const PlannerChoice& choice) {
  const auto info = std::ranges::find(catalogue(), choice.name, &PlannerInfo::name);
  const std::int64_t experts = expert_sizes(problem, {}, kMost).back();
  if (experts == 1 || info == catalogue().end() || info->states) return {};
  std::vector<UntriedGroups> out;
  const auto add = [&](const char* divided, const char* name, std::int64_t largest) {
    const PlannerOption* option = find_option(*info, name);
    if (largest == 1 || allowed(option, choice) > 1) return;
    out.push_back(
        {divided, option == nullptr ? "" : fmt::format("{}={}", name, std::min(largest, option->high))});
  };
  add("experts", "max_expert_parallel", experts);
  add("tokens", "max_context_parallel", context_sizes(problem, {}, kMost).back());
  return out;
}

std::string in_words(const std::vector<UntriedGroups>& untried) {
  std::string out;
  for (const UntriedGroups& groups : untried)
    out += fmt::format("{}groups that divide {} ({})", out.empty() ? "not tried: " : ", ", groups.divided,
                       groups.option.empty() ? "planner joint tries them" : "option " + groups.option);
  return out;
}

}  // namespace penstock::planners
