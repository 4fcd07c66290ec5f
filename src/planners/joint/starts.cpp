#include "joint/starts.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string_view>

#include "penstock/core/parallel.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

/// One planner's answer, or why there is none.
struct Answer {
  std::optional<JudgedDraft> plan;
  std::uint64_t states = 0;
  bool late = false;
  std::exception_ptr error;
};

bool takes_minutes(std::string_view planner) {
  return planner == "piper" || planner == "graphpipe_climb" || planner == "aceso" || planner == "exhaustive";
}

bool direct(std::string_view planner) {
  constexpr std::string_view kDirect[] = {"single_device", "data_parallel", "gpipe_equal",  "gpipe_memory",
                                          "megatron",      "autopipe",      "pipedream_2bw"};
  return std::ranges::count(kDirect, planner) > 0;
}

/// Units times devices up to which all planners answer within minutes.
constexpr std::size_t kMostTabled = std::size_t{1} << 15;

/// Whose answers graphpipe_climb begins with, which no answer of its own is slower than; and graphpipe_rows
/// those of graphpipe.
bool in_another(std::string_view planner, AskedPlanners asked) {
  return planner == "graphpipe" || (planner == "graphpipe_rows" && asked == AskedPlanners::all);
}

bool is_asked(std::string_view planner, AskedPlanners asked) {
  if (asked == AskedPlanners::direct) return direct(planner);
  if (planner == "joint" || in_another(planner, asked)) return false;
  return asked == AskedPlanners::all || !takes_minutes(planner);
}

/// 1F1B, whose replicas split the micro-batches that they took in turn.
void run_with_flush(const cost::Problem& problem, plan::Plan& plan) {
  if (!plan::asynchronous(plan)) return;
  plan.schedule = "1f1b";
  for (plan::Stage& stage : plan.stages) stage.in_flight = 0;
  score::derive_in_flight(problem, plan);
}

class Asking {
 public:
  Asking(const PlanSpace& space, const JointJudge& judge, core::StopToken stop)
      : space_(space), judge_(judge), options_(space.options()), stop_(stop) {
    options_.progress = {};
  }

  /// Plans no faster than these are of no use from now on.
  void give_up_beyond(std::span<const Answer> answers) {
    if (!by_evaluation(options_) || !options_.at_least)
      return;  // a device may be faster than it is said to be
    for (const Answer& answer : answers)
      if (answer.plan) options_.give_up = std::min(options_.give_up, answer.plan->worth.iteration);
  }

  SearchResult called(const PlannerChoice& question) const {
    SearchOptions options = options_;
    options.own = question.options;  // none of joint's
    return planner(question.name).plan(space_.problem(), options, stop_);
  }

  Answer answer(const PlannerChoice& question) const {
    Answer out;
    try {
      stop_.check();
      SearchResult found = options_.ask ? options_.ask(question, stop_) : called(question);
      out.states = found.states;
      out.late = !found.complete;
      run_with_flush(space_.problem(), found.plan);
      if (space_.torn_off(found.plan) || !score::violations(space_.problem(), found.plan).empty()) return out;
      if (!space_.limits().allow(found.plan))
        throw core::Infeasible(question.name + ": its plan is outside of joint's limits");
      out.plan = JudgedDraft{space_.draft_of(found.plan), {}};  // a limit may leave no time to judge it
      out.plan->worth = judge_.worth(found.plan);
    } catch (const core::LimitHit&) {
      out.late = true;
    } catch (const core::Interrupted&) {
      throw;
    } catch (const core::Error& error) {
      if (error.code() == core::ExitCode::internal) throw;
      out.error = std::current_exception();
    }
    return out;
  }

 private:
  const PlanSpace& space_;
  const JointJudge& judge_;
  SearchOptions options_;
  core::StopToken stop_;
};

}  // namespace

/// Every planner as it is, and once more for a schedule with a flush where it has to be told; of large
/// problems, where few are asked, megatron's plans of whole layers too: a stage of one operator more than
/// they have may not fit.
std::vector<PlannerChoice> questions(AskedPlanners asked, std::size_t units, std::size_t devices) {
  if (units * devices > kMostTabled) asked = AskedPlanners::direct;
  std::vector<PlannerChoice> out;
  for (const PlannerInfo& info : catalogue()) {
    if (info.states || !is_asked(info.name, asked)) continue;
    out.push_back({info.name});
    if (std::ranges::count(info.options, "flush", &PlannerOption::name) > 0)
      out.push_back({info.name, {{"flush", "true"}}});
  }
  if (asked == AskedPlanners::direct) out.push_back({"megatron", {{"units", "layers"}}});
  return out;
}

namespace {

/// Fills in what those of `questions` answer of whom `asked` says so, in parallel.
template <class Asked>
void ask(const Asking& asking, const std::vector<PlannerChoice>& questions, const Asked& asked,
         std::vector<Answer>& answers) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (asked(questions[i])) order.push_back(i);
  // A long search that begins last would leave the other threads idle.
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return takes_minutes(questions[i].name); });
  core::parallel_in_order(order.size(),
                          [&](std::size_t n) { answers[order[n]] = asking.answer(questions[order[n]]); });
}

/// Of those who know every option and any number of devices, so that it is the problem's or the user's fault;
/// else of the first that has one.
std::exception_ptr error_of(const std::vector<PlannerChoice>& questions, const std::vector<Answer>& answers) {
  for (const std::string_view telling : {"graphpipe_climb", "graphpipe_rows", "megatron", ""})
    for (std::size_t i = 0; i < questions.size(); ++i)
      if (answers[i].error && (telling.empty() || questions[i].name == telling)) return answers[i].error;
  return nullptr;
}

/// Those who need not be spared anything: the best of their answers is what the others have to beat.
bool first(const PlannerChoice& question) {
  return direct(question.name);
}

}  // namespace

Starts starts(const PlanSpace& space, const JointJudge& judge, AskedPlanners asked, core::StopToken stop) {
  Asking asking(space, judge, stop);
  const auto all = questions(asked, space.units().operators.size(), space.problem().cluster.size());
  std::vector<Answer> answers(all.size());
  ask(asking, all, first, answers);
  asking.give_up_beyond(answers);
  ask(asking, all, std::not_fn(first), answers);
  Starts out;
  std::set<std::string> met;
  for (const bool now : {true, false})
    for (std::size_t i = 0; i < all.size(); ++i) {
      Answer& answer = answers[i];
      if (first(all[i]) != now) continue;
      out.states += answer.states;
      out.complete = out.complete && !answer.late;
      if (answer.plan && met.insert(space.key(answer.plan->draft)).second)
        out.plans.push_back(std::move(*answer.plan));
    }
  out.error = error_of(all, answers);
  std::ranges::stable_sort(out.plans, {}, &JudgedDraft::worth);
  return out;
}

SearchResult start(const PlanSpace& space, const JointJudge& judge, AskedPlanners asked,
                   const PlannerChoice& question, core::StopToken stop) {
  Asking asking(space, judge, stop);
  const auto all = questions(asked, space.units().operators.size(), space.problem().cluster.size());
  std::vector<Answer> answers(all.size());
  if (!first(question)) ask(asking, all, first, answers);
  asking.give_up_beyond(answers);
  return asking.called(question);
}

}  // namespace penstock::planners
