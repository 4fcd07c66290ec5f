#include "penstock/core/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

using penstock::core::parallel_for;
using penstock::core::parallel_in_order;

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

TEST_CASE("a parallel loop in order begins nothing before its predecessors") {
  constexpr std::size_t kCount = 2000;
  std::vector<int> visits(kCount);
  std::atomic<std::size_t> begun = 0;
  std::atomic<bool> ahead = false;
  parallel_in_order(kCount, [&](std::size_t i) {
    // With t threads at most t - 1 smaller ones have begun and not come here yet.
    if (i > begun++ + 64) ahead = true;
    ++visits[i];
  });
  CHECK(visits == std::vector<int>(kCount, 1));
  CHECK_FALSE(ahead);
}

TEST_CASE("an exception in a parallel loop reaches the caller") {
  CHECK_THROWS_AS(parallel_for(100,
                               [](std::size_t i) {
                                 if (i == 7) throw std::runtime_error("seven");
                               }),
                  std::runtime_error);
}
