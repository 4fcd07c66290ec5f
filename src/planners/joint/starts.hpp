#pragma once
// Where `joint` begins: the answers of all other planners.

#include <exception>
#include <vector>

#include "joint/walk.hpp"

namespace penstock::planners {

struct Starts {
  std::vector<JudgedDraft> plans;  ///< the best first; no two alike
  std::uint64_t states = 0;
  bool complete = true;  ///< false: some planner met a limit
  /// Plans that need not be judged any more, for so many were by a search whose answer is a good beginning:
  /// by whole layers; or of a part of the devices, where its plan is the best and hardly slower than there.
  std::size_t judged = 0;
  std::exception_ptr error;  ///< of one that had no plan
};

/// Whose plans are asked for. `quick` leaves out those whose search may take minutes: piper, graphpipe_climb,
/// aceso, exhaustive. `direct` are those that try a list of uniform plans, and need no longer on more
/// devices; no more than these are asked, whatever was said, where the others' tables would be too large.
enum class AskedPlanners : std::uint8_t { all, quick, direct };

/// Whether no others are asked, of a model of so many units on so many devices.
bool only_direct(std::size_t units, std::size_t devices);

/// Largest groups that may divide tokens and experts.
struct MeshSizes {
  int context = 1, expert = 1;
};

/// Of a problem with so many units of the model, on so many devices.
JointQuestions questions(AskedPlanners asked, std::size_t units, std::size_t devices, MeshSizes most);

/// Plans of planners without a flush run as 1F1B where they can.
Starts starts(const PlanSpace& space, const JointJudge& judge, const JointQuestions& questions,
              core::StopToken stop);

/// One of these answers: what the planner says when it is asked so. Throws as it does.
SearchResult start(const PlanSpace& space, const JointJudge& judge, const JointQuestions& questions,
                   const PlannerChoice& question, core::StopToken stop);

}  // namespace penstock::planners
