#pragma once
// Starts of `joint`: the answers of all other planners.

#include <exception>
#include <vector>

#include "joint/walk.hpp"

namespace penstock::planners {

struct StartPlans {
  std::vector<JudgedDraft> plans;  ///< best first, all different
  std::uint64_t states = 0;
  bool complete = true;  ///< false: some planner hit a limit
  /// Number of plans to deduct from the search, because another search already evaluated as many and its
  /// answer is a good start. That is the search by whole layers, or that of a part whose plan is the best and
  /// nearly as fast. A search by whole layers with the whole budget is not deducted.
  std::size_t judged = 0;
  std::exception_ptr error;  ///< error of a planner without a plan
};

/// Planners to use. `quick` leaves out those that may take minutes: piper, graphpipe_climb, aceso,
/// exhaustive. `direct` are those that enumerate uniform plans, whose time does not grow with devices; only
/// these are used if the tables of the others would be too large.
enum class AskedPlanners : std::uint8_t { all, quick, direct };

/// True if only `direct` planners are used, for this many units and devices.
bool only_direct(std::size_t units, std::size_t devices);

/// Maximum sizes of groups that divide tokens and experts.
struct MeshSizes {
  int context = 1, expert = 1;
};

/// Planners and options for a problem with this many units and devices.
JointQuestions questions(AskedPlanners asked, std::size_t units, std::size_t devices, MeshSizes most);

/// Answers of the planners. Plans of planners without a flush run as 1F1B if possible.
StartPlans starts(const PlanSpace& space, const JointJudge& judge, const JointQuestions& questions,
                  core::StopToken stop);

/// Answer of one planner. Throws like the planner.
SearchResult start(const PlanSpace& space, const JointJudge& judge, const JointQuestions& questions,
                   const PlannerChoice& question, core::StopToken stop);

}  // namespace penstock::planners
