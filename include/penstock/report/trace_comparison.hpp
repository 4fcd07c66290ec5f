#pragma once
// A replay compared with its simulation, task by task.

#include <string>

#include "penstock/report/lines.hpp"
#include "penstock/report/replay_rows.hpp"

namespace penstock::report {

/// Table for people: the iteration with its interval, exposed communication and peak memory in total and per
/// stage, durations and starts by kind of task.
std::string comparison_table(const ReplayRow& row, const trace::TraceComparison& comparison,
                             const ScreenLimits& screen = {});

/// CSV with a line per task: kind,device,peer,stage,micro_batch, then measured and simulated start and
/// duration in seconds, and the error of the duration. Tasks of a whole stage have micro-batch -1; only
/// transfers have a peer.
std::string comparison_csv(const trace::TraceComparison& comparison);

/// JSON {"provenance": ..., "replay": the row as in to_json of a ReplayTable, "iterations_s": every repeat,
/// "graph_iterations_s": every launch of the iteration as one graph, "stages": [...], "kinds": [...],
/// "only_measured": ..., "only_simulated": ...}. A pair is {"measured", "simulated", "error"}.
std::string comparison_json(const ReplayRow& row, const std::vector<core::Seconds>& iterations,
                            const std::vector<core::Seconds>& as_graph,
                            const trace::TraceComparison& comparison, const Provenance& provenance);

}  // namespace penstock::report
