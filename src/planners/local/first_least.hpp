#pragma once
// Minimum over a few candidates evaluated in parallel; a value found early saves evaluations of the others.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "penstock/core/parallel.hpp"

namespace penstock::planners {

template <class Value>
struct FirstLeast {
  std::optional<std::size_t> index;  ///< none: no value is below the one to beat
  Value value;
};

/// Finds the minimum value below `to_beat`; among equals that of the lowest index, for any number of threads.
/// `bounds`: [index] lower bound on the value, none if there is nothing to evaluate. The lowest bound goes
/// first, and candidates that cannot win are skipped. judge(i, minimum so far, whether a value equal to it
/// may win) returns the value if it may win, otherwise any value that may not.
template <class Value, class Judge>
FirstLeast<Value> first_least(const std::vector<std::optional<Value>>& bounds, const Value& to_beat,
                              Judge&& judge) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < bounds.size(); ++i)
    if (bounds[i] && *bounds[i] < to_beat) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *bounds[i]; });
  FirstLeast<Value> out{{}, to_beat};
  std::mutex mutex;
  core::parallel_in_order(order.size(), [&](std::size_t n) {
    const std::size_t i = order[n];
    std::unique_lock lock(mutex);
    const Value least = out.value;
    const bool ties = out.index && i < *out.index;
    lock.unlock();
    if (ties ? *bounds[i] > least : *bounds[i] >= least) return;
    const Value value = judge(i, least, ties);
    lock.lock();
    if (value < out.value || (value == out.value && out.index && i < *out.index)) out = {i, value};
  });
  return out;
}

}  // namespace penstock::planners
