#pragma once
// Explains why a simulation makes no progress, in words.

#include <string>
#include <vector>

#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// Returns a text such as "the backward pass of micro-batch 3 on stage 1 (device 2)".
std::string in_words(const TaskGraph& graph, TaskId task);

/// `waiting`: [task] number of predecessors that have not ended. Throws an invalid-plan error with a circle
/// of tasks that wait for each other, a line each, at most twelve.
[[noreturn]] void report_deadlock(const TaskGraph& graph, const std::vector<std::int32_t>& waiting);

/// Throws BadInput: the transfer waits for a link of its route that is down and never restored.
[[noreturn]] void report_dead_link(const TaskGraph& graph, TaskId transfer);

}  // namespace penstock::sim
