#pragma once
// Sorts keys with their values.

#include <cstdint>

#include "cuda/queue.hpp"

namespace penstock::kernels::cuda {

/// Bytes of `workspace` that sort_pairs needs.
std::int64_t sort_workspace(std::int64_t count);
/// Sorts by key; equal keys keep their order.
void sort_pairs(const LaunchQueue& queue, std::int64_t count, void* workspace, std::int64_t bytes,
                const std::int64_t* keys, std::int64_t* sorted_keys, const std::int64_t* values,
                std::int64_t* sorted_values);

}  // namespace penstock::kernels::cuda
