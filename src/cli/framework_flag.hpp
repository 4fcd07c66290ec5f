#pragma once
// --for: a search among the plans that a training framework can run.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "penstock/experiment/assumptions.hpp"
#include "problem_flags.hpp"

namespace penstock::cli {

class FrameworkFlag {
 public:
  /// `usual`: text for the help, what is searched without the flag.
  void add(CLI::App& command, const std::string& usual);
  /// Without the flag, chooses Megatron-LM for a language model that comes from elsewhere: a released network, a
  /// Hugging Face config, or a plan file. `given`: the name as the user wrote it.
  void choose_for(const std::string& given, const plan::ModelRef& model);
  /// Without the flag, chooses the framework that runs the plan's cluster, if it can run the plan.
  void stay_with(const plan::Plan& plan, const cost::Problem& problem);
  /// Takes back what choose_for() chose if that framework cannot train the model. Returns the reason if so.
  std::optional<std::string> gives_up(const plan::ModelRef& model, const graph::OpGraph& graph);

  /// experiment::SearchSetting::runnable_by.
  std::string runnable_by() const;
  /// Loads the problem. A limited search has the limit among its assumptions. Its models get flash attention
  /// unless they state another. The framework runs its cluster unless --framework is given.
  LoadedProblem load(ProblemFlags problem) const;
  /// Line about the limit, if the search has one.
  std::optional<experiment::ProblemAssumption> assumption() const;
  /// Planner in words for progress.
  std::string named(const planners::PlannerChoice& planner) const;

 private:
  std::string name_;
  bool chosen_ = false;
};

}  // namespace penstock::cli
