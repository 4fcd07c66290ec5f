#include "joint/starts.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "penstock/core/parallel.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"

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

bool is_asked(std::string_view planner, AskedPlanners asked) {
  if (asked == AskedPlanners::direct) return direct(planner);
  return planner != "joint" && !(asked == AskedPlanners::quick && takes_minutes(planner));
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
  SearchResult called(const PlannerChoice& question) const {
    SearchOptions options = options_;
    options.own = question.options;  // none of joint's
    return planner(question.name).plan(space_.problem(), options, stop_);
  }

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

Starts starts(const PlanSpace& space, const JointJudge& judge, AskedPlanners asked, core::StopToken stop) {
  const Asking asking(space, judge, stop);
  const auto asked_for = questions(asked, space.units().operators.size(), space.problem().cluster.size());
  std::vector<Answer> answers(asked_for.size());
  std::vector<std::size_t> order(asked_for.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // A long search that begins last would leave the other threads idle.
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return takes_minutes(asked_for[i].name); });
  core::parallel_in_order(order.size(),
                          [&](std::size_t n) { answers[order[n]] = asking.answer(asked_for[order[n]]); });
  Starts out;
  std::set<std::string> met;
  for (Answer& answer : answers) {
    out.states += answer.states;
    out.complete = out.complete && !answer.late;
    if (answer.error && !out.error) out.error = answer.error;
    if (answer.plan && met.insert(space.key(answer.plan->draft)).second)
      out.plans.push_back(std::move(*answer.plan));
  }
  std::ranges::stable_sort(out.plans, {}, &JudgedDraft::worth);
  return out;
}

}  // namespace penstock::planners
