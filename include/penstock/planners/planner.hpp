#pragma once
// Interface of all planners: a pure function from a problem to a plan.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::planners {

/// Options that only one planner has (PlannerInfo::options), name to value; missing ones have their default.
using OwnOptions = std::map<std::string, std::string>;

/// A planner with its own options, written "piper:flush=true:recompute=never".
struct PlannerChoice {
  std::string name;
  OwnOptions options{};
  friend bool operator==(const PlannerChoice&, const PlannerChoice&) = default;
};

struct SearchResult;

/// Options of the user; the defaults are those of the GraphPipe paper's evaluation.
struct SearchOptions {
  /// Fixed number of samples that a replica of any stage takes at a time; default: all powers of two are
  /// tried. If one micro-batch flows through all stages and replicas split it, a fixed size requires equal
  /// replica counts in all stages, unless stages choose their own micro-batches.
  std::optional<std::int64_t> micro_batch;
  /// Fixed number of samples of the micro-batch that flows through all stages (GraphPipe's b); only for
  /// planners that have one.
  std::optional<std::int64_t> pipeline_micro_batch;
  bool per_stage_micro_batch = false;  ///< each stage chooses its own power of two
  int k = 1;                           ///< kFkB for all stages
  bool any_degree = false;             ///< replica counts of any size, not only powers of two
  /// Maximum devices per tensor-parallel group, in powers of two, for planners that try tensor parallelism.
  /// Default: the devices of a node. 1: no tensor parallelism.
  std::optional<int> max_tensor_parallel;
  /// Seconds of one iteration of a finished plan. Used to choose the micro-batch size and, with k > 1, to
  /// reduce in-flight counts. Pass the simulator to optimise simulated time. Must be callable from any
  /// thread; may throw LimitHit. Default: score::estimate, and the in-flight rule.
  std::function<core::Seconds(const plan::Plan&)> evaluate;
  /// Like `evaluate`, but may return any value above `to_beat` for a slower plan. Optional; saves time.
  std::function<core::Seconds(const plan::Plan&, core::Seconds to_beat)> evaluate_against;
  std::function<core::Seconds(const plan::Plan&)>
      at_least;  ///< fast lower bound on `evaluate`, which saves evaluations
  /// Sets these three functions for plans of another problem, which must outlive them. Empty if evaluation
  /// depends on this problem's cluster.
  std::function<void(const cost::Problem&, SearchOptions&)> judge_another{};
  /// Cutoff: a planner may skip any plan in which one device computes at least this long, and throws
  /// Infeasible if none is left. Used by `joint`, not for the reported answer of a planner. Perturbations
  /// must not make devices faster.
  core::Seconds give_up{std::numeric_limits<double>::infinity()};
  bool judge_by_estimate =
      false;  ///< choose micro-batch sizes by score::estimate even where `evaluate` is given
  /// Receives short texts on the progress of a long search and its best plan, from planners that report it.
  /// Called from any thread, one call at a time. Does not affect the result.
  std::function<void(const std::string&)> progress{};
  /// Known results of joint_questions(): returns what joint_answer() would return, or throws what it would
  /// throw. Returns nothing if the planner must still be called. Must be callable from any thread.
  std::function<std::optional<SearchResult>(const PlannerChoice&)> known{};
  /// Plan from which `joint` starts instead of other planners' answers; score::violations must accept it. For
  /// a plan with colocated stages, `joint` reassigns the branches to devices and returns the better plan.
  const plan::Plan* from = nullptr;
  /// Minimises the memory of the fullest device instead of the iteration time, among plans that take at most
  /// this long. For a `joint` search that starts from such a plan.
  std::optional<core::Seconds> least_memory_within{};
  /// `joint` stops between its rounds once a plan takes no longer, unless memory is minimised.
  core::Seconds enough{};
  /// Limits `joint` to plans that a training framework can run: returns the plan next to `plan` that it can
  /// run, or nothing. Differences from `before`, a plan that it can run, are made in all stages; if `before`
  /// is null, the setting of most stages counts. Stages have no in-flight counts. Must be callable from any
  /// thread.
  std::function<std::optional<plan::Plan>(const plan::Plan& plan, const plan::Plan* before)> runnable{};
  /// Names of the problem's model and cluster, for added planners; empty: unknown.
  plan::ModelRef model{};
  plan::ClusterRef cluster{};
  OwnOptions own{};
};

struct SearchResult {
  plan::Plan plan;           ///< valid by construction; callers still check score::violations
  double bottleneck = 0;     ///< seconds per sample of the slowest stage, the planner's objective
  std::uint64_t states = 0;  ///< number of table rows, states or cells computed
  std::optional<core::Seconds>
      estimate{};        ///< iteration time predicted by the planner; none: score::estimate
  bool complete = true;  ///< false: a limit was hit, and this is the best plan so far
};

/// A search. Throws Infeasible naming the obstacle if no plan fits, BadInput if the options contradict the
/// problem, InterruptedError when stopped. At a limit of the token it returns the best plan so far, marked
/// incomplete, or throws LimitHit if there is none. Complete results do not depend on the number of threads.
/// Sets stages, schedule and training; the caller sets the names of model and cluster.
using PlannerFunction =
    std::function<SearchResult(const cost::Problem&, const SearchOptions&, core::StopToken)>;

/// An option of one planner.
struct PlannerOption {
  std::string name;
  std::string meaning;
  std::string standard;               ///< the default
  std::vector<std::string> values{};  ///< allowed values; empty: whole numbers within the bounds
  std::int64_t low = 0, high = 0;     ///< bounds, inclusive
  /// true: numbers within the bounds, joined by "-", are allowed in addition to `values`
  bool joined = false;
  std::string free{};  ///< Description, such as "a number", if any text is allowed and the planner parses it.
};
/// Allowed values as text: "paper, code", "1 to 20", or "all, or numbers of 0 to 20 as in 3-4-3-2".
std::string allowed(const PlannerOption& option);

/// A planner in one line of 80 columns.
struct PlannerBrief {
  std::string idea;    ///< at most 31 characters
  std::string limits;  ///< the main ones, at most 30 characters
};

struct PlannerInfo {
  std::string name;
  std::string summary;  ///< one line
  std::string source;   ///< paper, and how our version differs
  std::string unseen;   ///< limits: what its plans never have, or its formula ignores, in a few words
  PlannerFunction plan;
  std::vector<PlannerOption> options{};
  /// True if the options state the plan: used by name only, never as one of all planners.
  bool states = false;
  PlannerBrief brief{};
};

/// All planners of Penstock, in the order of reports.
const std::vector<PlannerInfo>& catalogue();
/// Returns a planner of the catalogue, or an added one. Throws BadInput for an unknown name, with a hint.
const PlannerInfo& planner(std::string_view name);

/// Adds a planner of the calling program, until the program ends; `joint` does not start from its answers.
/// Throws BadInput if another planner has the name, or if it has characters other than letters, digits and
/// `_`. These four functions are thread-safe.
void add_planner(PlannerInfo info);
/// Like add_planner, but replaces an added planner of this name; running searches keep the old one.
void replace_planner(PlannerInfo info);
/// Names of the added planners, in the order of addition.
std::vector<std::string> added_planners();
bool is_added(std::string_view name);

/// Throws BadInput for an option that the planner does not have, with a hint, or for a value that it does not
/// allow.
void check_options(const PlannerInfo& planner, const OwnOptions& given);

/// Parses a planner with options. Throws BadInput for unknown names and values, and for an option given
/// twice.
PlannerChoice planner_choice(const std::string& text);
/// Adds one option, such as "flush=true". Throws BadInput like planner_choice.
void set_option(PlannerChoice& choice, const std::string& text);
/// Returns text that planner_choice parses; options are sorted by name.
std::string written(const PlannerChoice& choice);

/// Planners whose answers `joint` starts from. The answers of `first` determine the cutoff
/// (SearchOptions::give_up) for those in `then`.
struct JointQuestions {
  std::vector<PlannerChoice> first, then;
};
/// Returns the planners for `joint` with these options. Throws BadInput.
JointQuestions joint_questions(const cost::Problem& problem, const SearchOptions& options);

/// Returns the answer of one of these planners, called as `joint` with these options would call it. A planner
/// in `then` uses the results of `first`, passed in options.known if available. Throws like the planner.
SearchResult joint_answer(const cost::Problem& problem, const SearchOptions& options,
                          const PlannerChoice& question, core::StopToken stop);

}  // namespace penstock::planners
