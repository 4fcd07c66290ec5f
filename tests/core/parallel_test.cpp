#include "penstock/core/parallel.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

using penstock::core::parallel_for;

TEST_CASE("a parallel loop visits each index once, also inside another") {
  // Row i holds i * 100 + j; the rows are summed only after all threads are done.
  std::vector<std::vector<int>> rows(50, std::vector<int>(100));
  parallel_for(rows.size(), [&](std::size_t i) {
    parallel_for(rows[i].size(), [&](std::size_t j) { rows[i][j] += static_cast<int>(i * 100 + j); });
  });
  long sum = 0;
  for (const auto& row : rows) sum = std::accumulate(row.begin(), row.end(), sum);
  CHECK(sum == 4999L * 5000 / 2);
  parallel_for(0, [](std::size_t) { FAIL("nothing to visit"); });
}

TEST_CASE("an exception in a parallel loop reaches the caller") {
  CHECK_THROWS_AS(parallel_for(100,
                               [](std::size_t i) {
                                 if (i == 7) throw std::runtime_error("seven");
                               }),
                  std::runtime_error);
}
