#pragma once
// --for: a search among the plans that a training framework can run.

#include <CLI/CLI.hpp>
#include <string>

#include "problem_flags.hpp"

namespace penstock::cli {

class FrameworkFlag {
 public:
  /// `usual`: text for the help, what is searched without the flag.
  void add(CLI::App& command, const std::string& usual);
  /// Without the flag, chooses Megatron-LM for a language model that comes from elsewhere: a released network, a
  /// Hugging Face config, or a plan file. `given`: the name as the user wrote it.
  void choose_for(const std::string& given, const plan::ModelRef& model);
  /// Takes back what choose_for() chose if that framework cannot train the model. Returns true if so.
  bool gives_up(const plan::ModelRef& model, const graph::OpGraph& graph);

  /// experiment::SearchSetting::runnable_by.
  std::string runnable_by() const;
  /// Loads the problem. A limited search has the limit among its assumptions. Its models get flash attention
  /// unless they state another. The framework runs its cluster unless --framework is given.
  LoadedProblem load(ProblemFlags problem) const;
  /// Planner in words for progress.
  std::string named(const planners::PlannerChoice& planner) const;

 private:
  std::string name_;
  bool chosen_ = false;
};

}  // namespace penstock::cli
