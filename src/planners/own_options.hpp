#pragma once
// A planner's own options: declaration and access.

#include <initializer_list>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// An option with several allowed words; the first is the default.
PlannerOption words(std::string name, std::vector<std::string> values, std::string meaning);
/// A true or false option; default false.
PlannerOption flag(std::string name, std::string meaning);
PlannerOption number(std::string name, std::int64_t standard, std::int64_t low, std::int64_t high,
                     std::string meaning);

/// An option whose value is `word` (the default), or whole numbers within the bounds joined by "-".
PlannerOption numbers(std::string name, std::string word, std::int64_t low, std::int64_t high,
                      std::string meaning);

/// Values as given, otherwise the declared defaults.
class OwnValues {
 public:
  /// Throws BadInput like check_options; `declared` must outlive it.
  OwnValues(const char* planner, const std::vector<PlannerOption>& declared, const OwnOptions& given);
  const std::string& word(std::string_view option) const;
  bool flag(std::string_view option) const { return word(option) == "true"; }
  std::int64_t number(std::string_view option) const;
  std::vector<std::int64_t> numbers(std::string_view option) const;  ///< empty: its word

 private:
  const std::vector<PlannerOption>& declared_;
  OwnOptions given_;
};

/// `max_tensor_parallel`, an option of all planners that divide operators.
PlannerOption tensor_parallel_limit();
/// Returns `options` with that limit.
SearchOptions limited(const SearchOptions& options, const OwnValues& own);

}  // namespace penstock::planners
