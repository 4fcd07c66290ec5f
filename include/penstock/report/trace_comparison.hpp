#pragma once
// One replay beside its simulation, task by task.

#include <string>

#include "penstock/report/lines.hpp"
#include "penstock/report/replay_rows.hpp"

namespace penstock::report {

/// Table for people: the iteration with its interval, exposed communication and peak memory in total and per
/// stage, durations and starts by kind of task.
std::string comparison_table(const ReplayRow& row, const trace::Comparison& comparison,
                             const Screen& screen = {});

/// A line per task: kind,device,peer,stage,micro_batch, then start and duration, measured and simulated, in
/// seconds, and error, of the duration. What concerns a whole stage has micro-batch -1, what is no transfer
/// no peer.
std::string comparison_csv(const trace::Comparison& comparison);

/// {"provenance": ..., "replay": the row as in to_json of a ReplayTable, "iterations_s": every repeat,
/// "graph_iterations_s": every launch of the iteration as one graph, "stages": [...], "kinds": [...],
/// "only_measured": ..., "only_simulated": ...}; a pair is
/// {"measured", "simulated", "error"}.
std::string comparison_json(const ReplayRow& row, const std::vector<core::Seconds>& iterations,
                            const std::vector<core::Seconds>& as_graph, const trace::Comparison& comparison,
                            const Provenance& provenance);

}  // namespace penstock::report
