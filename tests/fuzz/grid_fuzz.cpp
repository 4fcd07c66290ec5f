// Whatever the bytes, a grid is read or refused; what is read is written and read again; what has no faults
// runs to its end, and has none either when its stages are gathered and its gradients reduced.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/schedule/grid_csv.hpp"
#include "penstock/schedule/grid_faults.hpp"
#include "penstock/schedule/lowering.hpp"
#include "penstock/schedule/weight_versions.hpp"
#include "penstock/sim/grid.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  schedule::Grid grid;
  try {
    grid = schedule::parse_grid(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const core::BadInput&) {
    return 0;
  }
  core::require(schedule::parse_grid(to_csv(grid), "fuzz") == grid, "a grid reads back the same");
  if (!grid_faults(grid, micro_batches(grid)).empty()) return 0;
  core::require(sim::simulate_grid(grid, {}).makespan.value() > 0, "a grid without faults takes time");
  core::require(unit_steps(grid) > 0, "a grid without faults takes steps");
  const schedule::Grid lowered = add_reductions(add_unshards(grid));
  core::require(grid_faults(lowered, micro_batches(grid)).empty(), "lowering makes no faults");
  const auto weights = weight_versions(grid.ranks, schedule::weight_policy("stashing"));
  core::require(weights.held.size() == grid.ranks.size(), "every rank holds weights");
  return 0;
}
