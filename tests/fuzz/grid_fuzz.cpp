// Whatever the bytes, a grid is read or refused; what is read is written and read again; what has no faults
// runs to its end, with and without messages added.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/schedule/grid_csv.hpp"
#include "penstock/schedule/grid_faults.hpp"
#include "penstock/schedule/lowering.hpp"
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
  return 0;
}
