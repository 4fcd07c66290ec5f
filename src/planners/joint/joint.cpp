#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "families.hpp"
#include "joint/part.hpp"
#include "joint/row_starts.hpp"
#include "joint/starts.hpp"
#include "joint/tail_plans.hpp"
#include "joint/thrifty.hpp"
#include "own_options.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/cost/training_state.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/plan/strategy.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "tensor/mesh_sizes.hpp"

namespace penstock::planners {
namespace {

/// Number of walks in the first round; the better half continues after each round.
constexpr std::size_t kWalks = 8;

/// Number of units up to which all partitions are tried anyway (planner exhaustive).
constexpr std::size_t kSmall = 12;

/// Units times devices up to which plans of whole layers are searched first, with a budget of their own. That
/// takes seconds at most. A walk among all plans may miss what a walk among fewer finds.
constexpr std::size_t kSearchedTwice = 160;

/// Kind of a plan, so that walks start far from each other.
std::string plan_kind(const plan::Plan& plan) {
  const plan::Strategy strategy = plan::strategy(plan, 1);
  const bool pipeline = strategy.pipeline_parallel > 1, divided = plan::tensor_parallel(strategy).most > 1;
  const bool tokens =
      std::ranges::any_of(plan.stages, [](const plan::Stage& stage) { return stage.context_parallel > 1; });
  return plan.schedule + (pipeline ? " pipeline" : "") + (divided ? " divided" : "") +
         (strategy.zero.most > 0 ? " zero" : "") + (strategy.expert_parallel.most > 1 ? " experts" : "") +
         (tokens ? " context" : "");
}

/// Returns the best of each kind first, then the others; at most `most`.
std::vector<JudgedDraft> diverse(const std::vector<JudgedDraft>& plans, std::size_t most) {
  std::vector<JudgedDraft> first, rest;
  std::set<std::string> kinds;
  for (const JudgedDraft& plan : plans)
    (kinds.insert(plan_kind(plan.draft.plan)).second ? first : rest).push_back(plan);
  first.insert(first.end(), rest.begin(), rest.end());
  if (first.size() > most) first.erase(first.begin() + static_cast<std::ptrdiff_t>(most), first.end());
  return first;
}

UnitGraph units_of(const graph::OpGraph& graph, const OwnValues& own) {
  return own.word("units") == "layers" ? layer_units(graph) : planning_units(graph);
}

AskedPlanners asked_planners(const OwnValues& own) {
  const std::string& starts = own.word("starts");
  if (starts == "all") return AskedPlanners::all;
  return starts == "quick" ? AskedPlanners::quick : AskedPlanners::direct;
}

/// Returns joint itself with this budget, for another kind of plans.
PlannerChoice itself(std::int64_t evaluations, OwnOptions kind, const SearchOptions& options) {
  kind["evaluations"] = std::to_string(evaluations);
  kind.insert(options.own.begin(), options.own.end());  // all other options
  return {"joint", std::move(kind)};
}

/// Planners of `questions`, and before them faster searches. Three quarters of the budget go to a part of the
/// devices. Without a part, half of the budget of a large problem goes to plans of whole layers. A small
/// problem searches those as well, so that its answer is never slower than with units=layers.
JointQuestions all_questions(const cost::Problem& problem, const SearchOptions& options, const OwnValues& own,
                             const UnitGraph& units) {
  const std::size_t operators = units.operators.size(), devices = problem.cluster.size();
  const PlanLimits limits = plan_limits(own);
  JointQuestions out = questions(asked_planners(own), operators, devices,
                                 {context_sizes(problem, options, limits.context_parallel).back(),
                                  expert_sizes(problem, options, limits.expert_parallel).back()});
  const std::int64_t evaluations = own.number("evaluations");
  if (own.word("part") != "first" || evaluations < 4) return out;
  if (!part_sizes(problem, options).empty())
    out.first.insert(out.first.begin(), itself(evaluations / 4 * 3, {{"part", "alone"}}, options));
  else if (own.word("units") == "operators" && only_direct(operators, devices))
    out.first.insert(
        out.first.begin(),
        itself(evaluations / 2, {{"part", "never"}, {"starts", "direct"}, {"units", "layers"}}, options));
  else if (own.word("units") == "operators" && operators * devices <= kSearchedTwice &&
           std::holds_alternative<plan::LayerRow>(plan::layer_row(problem.graph)))
    out.first.insert(out.first.begin(),
                     itself(evaluations, {{"part", "never"}, {"units", "layers"}}, options));
  return out;
}

/// Adds the options that limit plans.
std::vector<PlannerOption> joined(std::vector<PlannerOption> own) {
  std::ranges::copy(limit_options(), std::back_inserter(own));
  return own;
}

class JointSearch {
 public:
  JointSearch(const cost::Problem& problem, const SearchOptions& options, const OwnValues& own,
              core::StopToken stop)
      : problem_(problem),
        options_(options),
        space_(problem, options, units_of(problem.graph, own), plan_limits(own)),
        judge_(problem, options),
        stop_(stop),
        evaluations_(static_cast<std::size_t>(own.number("evaluations"))),
        questions_(all_questions(problem, options, own, space_.units())),
        change_(own.word("change") == "cuts" ? ChangeScope::cuts : ChangeScope::all),
        layers_(own.word("units") == "layers"),
        rows_(!options.runnable && asked_planners(own) != AskedPlanners::direct &&
              space_.units().operators.size() > kSmall &&
              !only_direct(space_.units().operators.size(), problem.cluster.size()) &&
              space_.row_of_layers()) {}

  SearchResult run() {
    stop_.check();
    check_room();
    if (options_.from && plan::has_colocated(*options_.from)) return near_colocated(*options_.from);
    StartPlans begun = options_.from ? given(*options_.from) : starts(space_, judge_, questions_, stop_);
    if (begun.judged < evaluations_) evaluations_ -= begun.judged;  // else it had a budget of its own
    if (begun.plans.empty() && !begun.complete) stop_.give_up();
    if (begun.plans.empty()) begun.plans = last_resort(begun.error);
    if (evaluations_ > 0 && !options_.from && rows_ && !enough(begun.plans.front().worth))
      begun.complete = add_rows(begun.plans) && begun.complete;
    best_ = begun.plans.front();
    if (evaluations_ > 0 && !options_.from && space_.limits().colocated && !enough(best_.worth))
      begun.complete = add_tail(begun.states) && begun.complete;
    told_ = best_;
    report();
    const bool complete = improved(begun.plans) && begun.complete;
    const double bottleneck = score::estimate(problem_, best_.draft.plan).bottleneck;
    return {std::move(best_.draft.plan), bottleneck, begun.states + judged_, {}, complete};
  }
  const PlanScore& best() const { return best_.worth; }  ///< score of the plan that run() found

 private:
  /// Refuses a problem without a search if no plan can hold the model.
  void check_room() const {
    core::Bytes all(0);
    for (std::size_t d = 0; d < problem_.cluster.size(); ++d)
      all += problem_.cluster.type(core::DeviceId(d)).memory;
    const core::Bytes held = cost::training_state(problem_);
    if (held <= all) return;
    throw core::Infeasible(
        fmt::format("no plan fits in memory: weights, gradients and optimizer state take {}, however they "
                    "are divided; all {} "
                    "devices together have {}: {} missing",
                    core::show(held), problem_.cluster.size(), core::show(all), core::show(held - all)));
  }

  /// Searches other assignments of branches to devices, because no move of a walk changes colocated stages.
  SearchResult near_colocated(const plan::Plan& plan) {
    if (change_ == ChangeScope::cuts)
      throw core::BadInput(
          "the plan has colocated stages, whose cuts are not searched; with change=all branches are dealt to "
          "devices anew");
    StartPlans begun = given(plan);
    best_ = begun.plans.front();
    const bool complete = evaluations_ == 0 || add_tail(begun.states);
    const double bottleneck = score::estimate(problem_, best_.draft.plan).bottleneck;
    return {std::move(best_.draft.plan), bottleneck, begun.states, {}, complete};
  }

  StartPlans given(const plan::Plan& plan) const {
    if (plan::asynchronous(plan))
      throw core::BadInput("joint begins at plans with a flush, not " + plan.schedule);
    if (options_.runnable) return runnable_near(plan);
    if (const auto torn = space_.torn_off(plan))
      throw core::BadInput(fmt::format("a stage of the plan begins {}, at '{}' or before",
                                       layers_ ? "inside a layer" : "between an input and its first reader",
                                       problem_.graph.op(*torn).name));
    if (!space_.limits().allow(plan))
      throw core::BadInput(
          "joint begins at plans within its own limits (max_zero, sequence_parallel, recompute, colocated)");
    StartPlans out;
    out.plans.push_back({space_.draft_of(plan), judge_.worth(plan)});
    if (std::isinf(out.plans.front().worth.least))
      throw core::BadInput("joint begins at plans that take no longer than its search allows");
    return out;
  }

  /// Begins at the plan next to the given one that the framework can run.
  StartPlans runnable_near(const plan::Plan& plan) const {
    auto draft = space_.runnable(PlanDraft{plan}, nullptr);
    if (!draft) throw core::BadInput("the framework can run no plan next to the given one");
    draft = space_.completed(std::move(*draft));
    if (!draft)
      throw core::BadInput("the plan next to the given one that the framework can run is not valid here");
    if (const auto found = score::violations(problem_, draft->plan); !found.empty())
      throw core::BadInput("the plan next to the given one that the framework can run: " + found.front());
    StartPlans out;
    const PlanScore worth = judge_.worth(draft->plan);
    out.plans.push_back({std::move(*draft), worth});
    return out;
  }

  /// Adds the best rows that no other planner makes, if they are better than all plans so far. Returns false
  /// if a limit ended it early.
  bool add_rows(std::vector<JudgedDraft>& plans) const {
    try {
      std::ranges::move(row_starts(space_, judge_, plans.front().worth, stop_), std::back_inserter(plans));
    } catch (const core::LimitHit&) {
      return false;
    }
    std::ranges::stable_sort(plans, {}, &JudgedDraft::worth);
    return true;
  }

  /// Tries plans that no walk reaches: their colocated stages are part of no move. Returns false if a limit
  /// ended it early.
  bool add_tail(std::uint64_t& states) {
    TailPlan tail = tail_plan(space_, judge_, best_.worth, stop_);
    states += tail.judged;
    if (tail.plan) best_ = std::move(*tail.plan);
    return tail.complete;
  }

  /// Plans for a problem on which no other planner's plan fits. Rethrows `error` if none of these fits
  /// either, or if the user's options contradict the problem.
  std::vector<JudgedDraft> last_resort(const std::exception_ptr& error) const {
    try {
      std::rethrow_exception(error);
    } catch (const core::Infeasible&) {
      auto out = thrifty_plans(space_, judge_, stop_);
      if (out.empty()) throw;
      return out;
    }
  }

  bool enough(const PlanScore& found) const {
    return !options_.least_memory_within && found.iteration <= options_.enough;
  }

  /// Runs the walks. Returns false if a limit ended them early.
  bool improved(const std::vector<JudgedDraft>& plans) {
    std::vector<IteratedSearch> walks;
    for (JudgedDraft& start : diverse(plans, kWalks))
      walks.emplace_back(space_, judge_, change_, std::move(start), walks.size() + 1, stop_);
    std::size_t rounds = 1;
    for (std::size_t left = walks.size(); left > 1; left = (left + 1) / 2) ++rounds;
    for (std::size_t round = 0; round < rounds && !enough(best_.worth); ++round) {
      const std::size_t share = evaluations_ / rounds / walks.size();
      std::atomic<bool> complete = true;
      core::parallel_for(walks.size(), [&](std::size_t i) {
        if (!walked(walks[i], share)) complete = false;
      });
      for (const IteratedSearch& walk : walks)
        if (walk.best().worth < best_.worth) best_ = walk.best();
      if (!complete) return false;
      std::ranges::stable_sort(walks, {}, [](const IteratedSearch& walk) { return walk.best().worth; });
      walks.erase(walks.begin() + static_cast<std::ptrdiff_t>((walks.size() + 1) / 2), walks.end());
    }
    return true;
  }

  /// Runs one walk in parallel with others. Returns false if a limit ended it early.
  bool walked(IteratedSearch& walk, std::size_t plans) {
    std::size_t judged = walk.judged(), counted = walk.counted();
    const auto count = [&] {
      const std::lock_guard lock(mutex_);
      judged_ += walk.judged() - std::exchange(judged, walk.judged());
      counted_ += walk.counted() - std::exchange(counted, walk.counted());
      if (walk.best().worth < told_.worth) told_ = walk.best();
      report();
    };
    try {
      walk.go_on(plans, count);
    } catch (const core::LimitHit&) {
      count();
      return false;
    }
    return true;
  }

  void report() const {
    if (options_.progress && evaluations_ > 0)
      options_.progress(fmt::format(
          "{}best {}, {} of {} plans judged", layers_ && !options_.from ? "by whole layers: " : "",
          judge_.in_words(told_.draft.plan, told_.worth), std::min(counted_, evaluations_), evaluations_));
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  PlanSpace space_;
  JointJudge judge_;
  core::StopToken stop_;
  std::size_t evaluations_;
  JointQuestions questions_;
  ChangeScope change_;
  bool layers_;
  bool rows_;  ///< true if row starts are tried: for models of layers, if the budget allows
  JudgedDraft best_;
  std::mutex mutex_;  ///< for parallel walks
  JudgedDraft told_;  ///< best reported so far
  /// Number of plans evaluated; the same weighted as in `evaluations`
  std::size_t judged_ = 0, counted_ = 0;
};

}  // namespace

const std::vector<PlannerOption>& joint_options() {
  static const std::vector<PlannerOption> options = joined({
      number("evaluations", 6000, 0, std::int64_t{1} << 30,
             "search budget: number of plans to evaluate after the starts. Large plans use more of it, small "
             "ones less (docs/planners.md). 0: the best of the starts"),
      words("starts", {"all", "quick", "direct"},
            "planners whose plans the search starts from. all: the whole catalogue. quick: without piper, "
            "graphpipe_climb, aceso and exhaustive, which may take minutes. direct: only planners that "
            "enumerate uniform plans (automatic for very large problems). all and quick also try even stages "
            "with V, wave and split-backward schedules, for models that are a chain of layers"),
      words("part", {"first", "never", "alone"},
            "search a small sub-cluster first and replicate the result. first: on more than 64 devices, with "
            "three quarters of the budget; the search on all devices starts from it. never: search all "
            "devices at once. alone: return the replicated result without a search on all devices"),
      words("change", {"all", "cuts"},
            "what may change from the start: all, or cuts (only where stages begin and end)"),
      words("units", {"operators", "layers"},
            "what stages are made of: operators, or whole layers as training frameworks need (for models "
            "that are a chain of layers)"),
  });
  return options;
}

JointQuestions joint_questions(const cost::Problem& problem, const SearchOptions& asked) {
  const OwnValues own("joint", joint_options(), asked.own);
  return all_questions(problem, limited(asked, own), own, units_of(problem.graph, own));
}

SearchResult joint_answer(const cost::Problem& problem, const SearchOptions& asked,
                          const PlannerChoice& question, core::StopToken stop) {
  const OwnValues own("joint", joint_options(), asked.own);
  const SearchOptions options = limited(asked, own);
  const PlanSpace space(problem, options, units_of(problem.graph, own), plan_limits(own));
  return start(space, JointJudge(problem, options), all_questions(problem, options, own, space.units()),
               question, stop);
}

namespace {

/// Searches the part with fewer planners, because all devices use the others anyway. Returns the best plan
/// with its time on the part.
SearchResult searched(const PartProblem& part, const SearchOptions& options, core::StopToken stop) {
  SearchOptions likewise = options;
  options.judge_another(part.problem(), likewise);
  likewise.own["part"] = "never";
  likewise.own["colocated"] = "never";  // its device sets are not repeated
  if (options.progress)
    likewise.progress = [&](const std::string& text) {
      options.progress(fmt::format("on {} devices: {}", part.problem().cluster.size(), text));
    };
  if (likewise.own["starts"] != "direct") likewise.own["starts"] = "quick";
  JointSearch joint(part.problem(), likewise, OwnValues("joint", joint_options(), likewise.own), stop);
  SearchResult out = joint.run();
  out.estimate = joint.best().iteration;
  return out;
}

/// Answer of the smallest part with a plan that fits, repeated on all devices. Its estimate is the time on
/// the part.
SearchResult repeated_part(const cost::Problem& problem, const SearchOptions& options, const OwnValues& own,
                           core::StopToken stop) {
  const PlanSpace space(problem, options, units_of(problem.graph, own), plan_limits(own));
  const auto sizes = part_sizes(problem, options);
  if (sizes.empty())
    throw core::Infeasible(
        "part=alone asks for more than 64 devices in nodes that repeat, as many samples for each of them, "
        "and "
        "memory for four times the weights and what belongs to them on a quarter of them");
  std::uint64_t states = 0;
  for (const std::size_t devices : sizes) {
    try {
      const PartProblem part(problem, devices);
      SearchResult found = searched(part, options, stop);
      states = found.states += states;
      PlanDraft draft = space.draft_of(part.repeated(std::move(found.plan)));
      if (!space.tidy(draft)) continue;
      auto whole = space.completed(std::move(draft));
      if (!whole) continue;
      found.plan = std::move(whole->plan);
      found.bottleneck = score::estimate(problem, found.plan).bottleneck;
      return found;
    } catch (const core::Infeasible&) {  // more devices may suffice
    }
  }
  throw core::Infeasible("no part of the devices has a plan that fits when it is repeated");
}

}  // namespace

// An addition of ours. Other planners decide some things exactly, by a formula, and the rest not at all. This
// one decides everything that a plan with a flush can state, only by simulation and without a proof. It
// starts from the answers of all others, so that it is never slower than one of them, and from rows that beat
// them (row_starts.hpp). It continues from the fastest of each kind (walk.hpp) until `evaluations` are used
// up; half of the walks end after every round (successive halving, Jamieson, Talwalkar, AISTATS 2016). With
// many devices it first searches a part (part.hpp), where evaluations are faster, or plans of whole layers,
// of which there are fewer. From a given plan (`penstock improve`) there is one walk.
SearchResult joint(const cost::Problem& problem, const SearchOptions& asked, core::StopToken stop) {
  const OwnValues own("joint", joint_options(), asked.own);
  const SearchOptions options = limited(asked, own);
  if (own.word("part") == "alone") return repeated_part(problem, options, own, stop);
  return JointSearch(problem, options, own, stop).run();
}

}  // namespace penstock::planners
