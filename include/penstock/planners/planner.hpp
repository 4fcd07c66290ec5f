#pragma once
// The seam of every planner: a pure function from a problem to a plan.

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

/// Name to value: choices that one planner alone has (PlannerInfo::options), those left out by default.
using OwnOptions = std::map<std::string, std::string>;

/// A planner with options of its own. Written "piper:flush=true:recompute=never".
struct PlannerChoice {
  std::string name;
  OwnOptions options{};
  friend bool operator==(const PlannerChoice&, const PlannerChoice&) = default;
};

struct SearchResult;

/// Choices a user may make; the defaults are those of the GraphPipe paper's evaluation.
struct SearchOptions {
  /// Pinned: samples that a replica, of whatever stage, takes at a time; default: all powers of two are
  /// tried. Where one micro-batch flows through all stages, each of which splits it over its replicas, a pin
  /// asks for equally many replicas in all stages, unless stages have micro-batches of their own.
  std::optional<std::int64_t> micro_batch;
  /// Pinned instead: samples of the micro-batch that flows through all stages (GraphPipe's b); only for
  /// planners that have one.
  std::optional<std::int64_t> pipeline_micro_batch;
  bool per_stage_micro_batch = false;  ///< every stage chooses its own power of two
  int k = 1;                           ///< kFkB for all stages
  bool any_degree = false;             ///< replica counts of any size, not only powers of two
  /// Most devices that run a replica of a stage together, for planners that try tensor parallelism, by powers
  /// of two; default: as many as a node has. 1: none do.
  std::optional<int> max_tensor_parallel;
  /// Seconds of one iteration of a finished plan: by which the best micro-batch size is chosen, and with k >
  /// 1 the in-flight counts are tightened. Handing in the simulator is how simulated time is optimised. Must
  /// be callable from any thread; may throw LimitHit. Default: score::estimate, and the in-flight rule.
  std::function<core::Seconds(const plan::Plan&)> evaluate;
  /// Seconds of a plan that is to beat a time: a slower plan may get any answer above it. Optional; saves
  /// time.
  std::function<core::Seconds(const plan::Plan&, core::Seconds to_beat)> evaluate_against;
  std::function<core::Seconds(const plan::Plan&)>
      at_least;  ///< evaluate's answer is never below: cheap, spares evaluations
  /// Sets these three to judge plans of another problem, which outlives them, as those of this one are
  /// judged. Nothing where that depends on this problem's cluster.
  std::function<void(const cost::Problem&, SearchOptions&)> judge_another{};
  /// Plans of which one device alone computes as long are of no use: planners may leave them out, where the
  /// search is shorter for it, and are Infeasible where nothing is left. `joint` asks so; who reports a
  /// planner's own answer does not. No perturbation may make devices faster.
  core::Seconds give_up{std::numeric_limits<double>::infinity()};
  bool judge_by_estimate =
      false;  ///< choose micro-batch sizes by score::estimate even where `evaluate` is given
  /// Told in a few words how far a long search is, and its best plan, by planners that can say it; from
  /// whatever thread, one at a time. Changes nothing.
  std::function<void(const std::string&)> progress{};
  /// What joint_answer() gives for one of joint_questions(), or throws, where that is known; nothing where
  /// the planner has yet to be called. Must be callable from any thread.
  std::function<std::optional<SearchResult>(const PlannerChoice&)> known{};
  /// Where `joint` begins instead of at other planners' answers: a plan that score::violations accepts. Of a
  /// plan with colocated stages, `joint` deals the branches to devices anew and returns the better plan.
  const plan::Plan* from = nullptr;
  /// What `joint` makes least instead of the time of an iteration: memory of the fullest device, among plans
  /// that take at most so long. For a search that begins at such a plan.
  std::optional<core::Seconds> least_memory_within{};
  /// Names of the problem's model and cluster, for planners of the calling program; empty: unknown.
  plan::ModelRef model{};
  plan::ClusterRef cluster{};
  OwnOptions own{};
};

struct SearchResult {
  plan::Plan plan;           ///< valid by construction; callers still ask score::violations
  double bottleneck = 0;     ///< seconds per sample of the slowest stage, the planner's objective
  std::uint64_t states = 0;  ///< table rows, states or cells computed
  std::optional<core::Seconds>
      estimate{};        ///< the iteration time the planner itself predicts; none: score::estimate
  bool complete = true;  ///< false: the best plan found until a limit
};

/// Throws Infeasible naming the obstacle when no plan fits, BadInput when the options contradict the problem,
/// Interrupted when stopped. At a limit of the token: the best plan so far, not complete, or LimitHit when
/// there is none. Deterministic for any thread count, if complete. Fills in stages, schedule, training; the
/// caller names model and cluster.
using PlannerFunction =
    std::function<SearchResult(const cost::Problem&, const SearchOptions&, core::StopToken)>;

/// An option of one planner alone.
struct PlannerOption {
  std::string name;
  std::string meaning;
  std::string standard;               ///< the default
  std::vector<std::string> values{};  ///< allowed; none: whole numbers within the bounds
  std::int64_t low = 0, high = 0;     ///< inclusive
  bool joined = false;                ///< numbers within the bounds joined by "-" too, beside `values`
  std::string free{};  ///< any text may be a value, which the planner reads: what it is, "a number"
};
/// "paper, code", "1 to 20", or "all, or numbers of 0 to 20 as in 3-4-3-2".
std::string allowed(const PlannerOption& option);

struct PlannerInfo {
  std::string name;
  std::string summary;  ///< one line
  std::string source;   ///< paper, and how ours differs
  std::string unseen;   ///< in a few words, what its plans never have, or its formula leaves out
  PlannerFunction plan;
  std::vector<PlannerOption> options{};
  bool states = false;  ///< its plan is what its options say: asked by name alone, not with all others
};

/// Every planner of Penstock, in the order reports list them.
const std::vector<PlannerInfo>& catalogue();
/// A planner of the catalogue, or one that was added. Throws BadInput for an unknown name, with a hint.
const PlannerInfo& planner(std::string_view name);

/// Adds a planner of the calling program, until the program ends; `joint` does not begin with its answers.
/// Throws BadInput for a name that another planner has, or that is not made of letters, digits and `_`.
/// These four may be called from any thread.
void add_planner(PlannerInfo info);
/// Likewise, in place of the one of this name that was added, if there is one; searches under way keep that.
void replace_planner(PlannerInfo info);
/// Names of the planners that were added, in that order.
std::vector<std::string> added_planners();
bool is_added(std::string_view name);

/// Throws BadInput for an option the planner does not have, with a hint, or a value it does not allow.
void check_options(const PlannerInfo& planner, const OwnOptions& given);

/// Throws BadInput for names and values that do not exist, and for an option given twice.
PlannerChoice planner_choice(const std::string& text);
/// Adds one option, "flush=true". Throws BadInput likewise.
void set_option(PlannerChoice& choice, const std::string& text);
/// Text that planner_choice reads; options by name.
std::string written(const PlannerChoice& choice);

/// Whose answers `joint` begins with. What the others need not find (SearchOptions::give_up) is known when
/// the first have answered.
struct JointQuestions {
  std::vector<PlannerChoice> first, then;
};
/// Of `joint` with these options. Throws BadInput.
JointQuestions joint_questions(const cost::Problem& problem, const SearchOptions& options);

/// The answer to one of them, as `joint` with these options asks for it: one of those that come then goes by
/// the answers of the first, which options.known may know. Throws as the planner does.
SearchResult joint_answer(const cost::Problem& problem, const SearchOptions& options,
                          const PlannerChoice& question, core::StopToken stop);

}  // namespace penstock::planners
