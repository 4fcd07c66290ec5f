#pragma once
// The best of a few, judged side by side: what one attains spares the others most of their judging.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "penstock/core/parallel.hpp"

namespace penstock::planners {

template <class Value>
struct FirstLeast {
  std::optional<std::size_t> index;  ///< none: nothing is less than what was to be beaten
  Value value;
};

/// The least value below `to_beat`, of equals that of the lowest index: the same for any number of threads.
/// `bounds`: [index] no value is below it, none where there is nothing to judge; the lowest goes first, and
/// what cannot win any more is left out. judge(i, least so far, whether a value equal to that may win too)
/// returns the value, if it may win, else any that may not.
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
