#pragma once
// --for: a search among the plans that a training framework can run.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "penstock/experiment/assumptions.hpp"
#include "problem_flags.hpp"

namespace penstock::cli {

/// Default of --for in the commands that search for a model's plans.
inline constexpr const char* kUsualFramework =
    "megatron for language models by released name, config or plan file; else any";

class FrameworkFlag {
 public:
  /// `usual`: text for the help, what is searched without the flag.
  void add(CLI::App& command, const std::string& usual = kUsualFramework);
  /// Without the flag, chooses the framework that runs the plan's cluster, if it can run the plan.
  void stay_with(const plan::Plan& plan, const cost::Problem& problem);

  /// experiment::SearchSetting::runnable_by.
  std::string runnable_by() const;
  /// Loads the problem. Without the flag, chooses Megatron-LM for a released language model, if it can train it. A
  /// limited search has the limit among its assumptions. The framework runs its cluster unless --framework is given.
  LoadedProblem load(ProblemFlags problem);
  /// Line about the limit, if the search has one.
  std::optional<experiment::ProblemAssumption> assumption() const;
  /// Planner in words for progress.
  std::string named(const planners::PlannerChoice& planner) const;

 private:
  LoadedProblem load_limited(ProblemFlags problem) const;

  std::string name_;
  bool chosen_ = false;
};

}  // namespace penstock::cli
