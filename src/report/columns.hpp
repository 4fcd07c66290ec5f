#pragma once
// The list of columns that CSV and JSON follow, for writing and reading. Private to the room.

#include "penstock/report/results.hpp"

namespace penstock::report {

inline constexpr ColumnGroups kAbout{false, false, false, false};  ///< only columns that identify a row
inline constexpr ColumnGroups kAll{true, true, true,
                                   true};  ///< columns in files: ratios are computed when they are read
inline constexpr ColumnGroups kAllAndRatio{true, true, true, true, true};

/// Calls visit(name, value) for the selected columns of the row, in their order.
template <class Row, class Visit>
void each_field(Row& row, const ColumnGroups& columns, Visit&& visit) {
  visit("model", row.model);
  visit("cluster", row.cluster);
  visit("devices", row.devices);
  visit("planner", row.planner);
  visit("mini_batch", row.mini_batch);
  const auto in = [&visit](bool wanted, const char* name, auto& value) {
    if (wanted) visit(name, value);
  };
  in(columns.axes, "setting", row.setting);
  in(columns.results, "strategy", row.strategy);
  in(columns.results, "pipeline_parallel", row.pipeline_parallel);
  in(columns.results, "data_parallel", row.data_parallel);
  in(columns.results, "tensor_parallel", row.tensor_parallel);
  in(columns.results, "zero", row.zero);
  in(columns.results, "recompute", row.recompute);
  in(columns.results, "micro_batch", row.micro_batch);
  in(columns.results, "stages", row.stages);
  in(columns.results, "depth", row.depth);
  in(columns.results, "schedule", row.schedule);
  in(columns.results, "estimate_s", row.estimate_s);
  in(columns.results, "iteration_s", row.iteration_s);
  in(columns.results, "estimate_error", row.estimate_error);
  in(columns.results, "lower_bound_s", row.lower_bound_s);
  in(columns.results, "gap", row.gap);
  in(columns.results, "samples_per_s", row.samples_per_s);
  in(columns.ratio, "ratio", row.ratio);
  in(columns.results, "tokens_per_s", row.tokens_per_s);
  in(columns.results, "tflops_per_device", row.tflops_per_device);
  in(columns.results, "mfu", row.mfu);
  in(columns.results, "bubble", row.bubble);
  in(columns.results, "peak_memory_bytes", row.peak_memory_bytes);
  in(columns.measured, "search_s", row.search_s);
  in(columns.measured, "judging_s", row.judging_s);
  in(columns.results, "states", row.states);
  in(columns.measured, "search_memory_bytes", row.search_memory_bytes);
  in(columns.results, "costs", row.costs);
  in(columns.results, "status", row.status);
  in(columns.origin, "date", row.date);
  in(columns.origin, "hardware", row.hardware);
}

}  // namespace penstock::report
