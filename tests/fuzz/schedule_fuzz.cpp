// A schedule of any bytes is read or refused. An accepted one is written and read again. A schedule without
// violations runs to its end, and has none after its stages are gathered and its gradients reduced.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/schedule/lowering.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "penstock/schedule/weight_versions.hpp"
#include "penstock/sim/schedule_times.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  schedule::Schedule schedule;
  try {
    schedule = schedule::parse_schedule(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const core::BadInput&) {
    return 0;
  }
  core::require(schedule::parse_schedule(to_csv(schedule), "fuzz") == schedule,
                "a schedule reads back the same");
  if (!schedule_violations(schedule, micro_batches(schedule)).empty()) return 0;
  core::require(sim::simulate_schedule(schedule, {}).makespan.value() > 0,
                "a schedule without faults takes time");
  core::require(unit_steps(schedule) > 0, "a schedule without faults takes steps");
  const schedule::Schedule lowered = add_reductions(add_unshards(schedule));
  core::require(schedule_violations(lowered, micro_batches(schedule)).empty(), "lowering makes no faults");
  const auto weights = weight_versions(schedule.ranks, schedule::weight_policy("stashing"));
  core::require(weights.held.size() == schedule.ranks.size(), "every rank holds weights");
  return 0;
}
