#include "local/first_least.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <limits>

using namespace penstock;

namespace {

/// A judge with the largest allowed error: a value that cannot win may be any other value that does not win.
double told(double value, double least, bool ties) {
  return value < least || (ties && value == least) ? value : std::numeric_limits<double>::infinity();
}

}  // namespace

TEST_CASE("the first of equal values is the least, for any order of bounds") {
  const std::vector<double> values{5, 3, 4, 3, 7};
  const std::vector<std::optional<double>> bounds{1.0, 2.5, 1.0, 0.5, 6.0};
  const auto judge = [&](std::size_t i, double least, bool ties) { return told(values[i], least, ties); };
  const auto found = planners::first_least(bounds, 10.0, judge);
  CHECK(found.index == 1);
  CHECK(found.value == 3);
}

TEST_CASE("nothing is judged whose bound is above the least so far, or that there is not") {
  const std::vector<std::optional<double>> bounds{4.0, std::nullopt, 1.0, 2.0, 9.0};
  std::atomic<int> judged = 0;
  const auto found = planners::first_least(bounds, 9.0, [&](std::size_t i, double, bool) {
    ++judged;
    return *bounds[i];
  });
  CHECK(found.index == 2);
  CHECK(judged <= 3);  // of two threads one may have begun with the next
}

TEST_CASE("a value no less than the one to beat is not found") {
  const std::vector<std::optional<double>> bounds{1.0, 2.0};
  const auto found = planners::first_least(
      bounds, 5.0, [](std::size_t, double least, bool ties) { return told(5, least, ties); });
  CHECK(!found.index);
}
