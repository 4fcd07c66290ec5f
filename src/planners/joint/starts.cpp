#include "joint/starts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "penstock/core/parallel.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

/// One planner's answer, or the reason why there is none.
struct PlannerAnswer {
  std::optional<JudgedDraft> plan;
  std::uint64_t states = 0;
  std::optional<core::Seconds> foretold{};  ///< time predicted by the planner
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

/// Maximum units times devices for which all planners answer within minutes.
constexpr std::size_t kMostTabled = std::size_t{1} << 15;

/// True if another planner starts from this planner's answer and is never slower: graphpipe_climb from all
/// sweeps, graphpipe_rows from graphpipe.
bool in_another(std::string_view planner, AskedPlanners asked) {
  return planner == "graphpipe" || (planner == "graphpipe_rows" && asked == AskedPlanners::all);
}

bool is_asked(std::string_view planner, AskedPlanners asked) {
  if (asked == AskedPlanners::direct) return direct(planner);
  if (planner == "joint" || in_another(planner, asked)) return false;
  return asked == AskedPlanners::all || !takes_minutes(planner);
}

/// True for joint itself, on part of the devices or by whole layers.
bool of_joint(const PlannerChoice& question) {
  return question.name == "joint";
}
bool of_part(const PlannerChoice& question) {
  return of_joint(question) && question.options.at("part") == "alone";
}
std::size_t evaluations(const PlannerChoice& question) {
  return std::stoul(question.options.at("evaluations"));
}

/// True if the repeated plan of a part is nearly as fast as on the part, where devices do not communicate
/// with others. Otherwise the network between parts slows it, and other plans are better.
bool as_foretold(const PlannerAnswer& answer) {
  constexpr double kHardlyLonger = 1.1;
  return answer.plan && answer.foretold && answer.plan->worth.iteration <= *answer.foretold * kHardlyLonger;
}

/// Converts to 1F1B: replicas split micro-batches instead of taking them in turn.
void run_with_flush(const cost::Problem& problem, plan::Plan& plan) {
  if (!plan::asynchronous(plan)) return;
  plan.schedule = "1f1b";
  for (plan::Stage& stage : plan.stages) stage.in_flight = 0;
  score::derive_in_flight(problem, plan);
}

/// Reports the best answer as soon as there is one; planners run in parallel.
class AnswerProgress {
 public:
  /// Both must outlive it.
  AnswerProgress(const std::function<void(const std::string&)>& progress, const JointJudge& judge,
                 std::size_t questions)
      : progress_(progress), judge_(judge), questions_(questions) {}

  void tell(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (progress_) progress_(text);
  }
  void answered(const std::optional<JudgedDraft>& plan) {
    const std::lock_guard lock(mutex_);
    ++answered_;
    if (plan && plan->worth < (best_ ? best_->worth : PlanScore{})) best_ = plan;
    if (progress_ && best_)
      progress_(fmt::format("best {}, {} of {} planners have answered",
                            judge_.in_words(best_->draft.plan, best_->worth), answered_, questions_));
  }

 private:
  const std::function<void(const std::string&)>& progress_;
  const JointJudge& judge_;
  std::size_t questions_, answered_ = 0;
  std::mutex mutex_;
  std::optional<JudgedDraft> best_;
};

class PlannerQueries {
 public:
  /// All must outlive it. Nothing is reported without `progress`.
  PlannerQueries(const PlanSpace& space, const JointJudge& judge, core::StopToken stop,
                 AnswerProgress* progress = nullptr)
      : space_(space), judge_(judge), options_(space.options()), progress_(progress), stop_(stop) {
    options_.progress = {};  // only joint's own progress is reported
  }

  /// Sets the cutoff: plans not faster than these answers may be skipped from now on.
  void give_up_beyond(std::span<const PlannerAnswer> answers) {
    if (!by_evaluation(options_) || !options_.at_least)
      return;  // a device may be faster than its type states
    for (const PlannerAnswer& answer : answers)
      if (answer.plan) options_.give_up = std::min(options_.give_up, answer.plan->worth.iteration);
  }

  SearchResult called(const PlannerChoice& question) const {
    SearchOptions options = options_;
    options.own = question.options;  // none of joint's
    options.known = {};              // these are for all devices
    if (of_joint(question) && progress_ != nullptr)
      options.progress = [this](const std::string& text) { progress_->tell(text); };
    return planner(question.name).plan(space_.problem(), options, stop_);
  }

  PlannerAnswer answer(const PlannerChoice& question) const {
    PlannerAnswer out;
    try {
      stop_.check();
      auto known = options_.known ? options_.known(question) : std::nullopt;
      SearchResult found = known ? std::move(*known) : called(question);
      out.states = found.states;
      out.foretold = found.estimate;
      out.late = !found.complete;
      run_with_flush(space_.problem(), found.plan);
      if (options_.runnable) {
        take_runnable(found.plan, question, out);
        if (progress_ != nullptr) progress_->answered(out.plan);
        return out;
      }
      if (space_.torn_off(found.plan) || !score::violations(space_.problem(), found.plan).empty()) return out;
      if (!space_.limits().allow(found.plan))
        throw core::Infeasible(question.name +
                               ": its plan is outside of joint's limits (max_zero, recompute, ...)");
      out.plan = JudgedDraft{space_.draft_of(found.plan), {}};  // a limit may leave no time to evaluate it
      out.plan->worth = judge_.worth(found.plan);
    } catch (const core::LimitHit&) {
      out.late = true;
    } catch (const core::InterruptedError&) {
      throw;
    } catch (const core::Error& error) {
      if (error.code() == core::ExitCode::internal) throw;
      out.error = std::current_exception();
    }
    if (progress_ != nullptr) progress_->answered(out.plan);
    return out;
  }

 private:
  /// The plan next to the answer that the framework can run.
  void take_runnable(const plan::Plan& plan, const PlannerChoice& question, PlannerAnswer& out) const {
    auto draft = space_.runnable(PlanDraft{plan}, nullptr);
    if (draft && !space_.torn_off(draft->plan))
      draft = space_.completed(std::move(*draft));
    else
      draft.reset();
    if (!draft || !score::violations(space_.problem(), draft->plan).empty())
      throw core::Infeasible(question.name + ": the framework can run no plan next to its own that fits");
    const PlanScore worth = judge_.worth(draft->plan);
    out.plan = JudgedDraft{std::move(*draft), worth};
  }

  const PlanSpace& space_;
  const JointJudge& judge_;
  SearchOptions options_;
  AnswerProgress* progress_;
  core::StopToken stop_;
};

}  // namespace

bool only_direct(std::size_t units, std::size_t devices) {
  return units * devices > kMostTabled;
}

/// Lists planners and options. Every planner runs with its defaults, and once more with a flush if that is an
/// option. Large problems use few planners; for them megatron also runs with whole layers, because a stage
/// with one more operator may not fit. If the model's tokens or experts can be divided, megatron also runs
/// with that. Planners that enumerate uniform plans come first: the others may skip plans that cannot beat
/// these, so the fastest plan is still among the answers.
JointQuestions questions(AskedPlanners asked, std::size_t units, std::size_t devices, MeshSizes most) {
  if (only_direct(units, devices)) asked = AskedPlanners::direct;
  JointQuestions out;
  for (const PlannerInfo& info : catalogue()) {
    if (info.states || !is_asked(info.name, asked)) continue;
    auto& when = direct(info.name) ? out.first : out.then;
    when.push_back({info.name});
    if (std::ranges::count(info.options, "flush", &PlannerOption::name) > 0)
      when.push_back({info.name, {{"flush", "true"}}});
  }
  if (asked == AskedPlanners::direct) out.first.push_back({"megatron", {{"units", "layers"}}});
  if (most.context > 1)
    out.first.push_back({"megatron", {{"max_context_parallel", std::to_string(most.context)}}});
  if (most.expert > 1)
    out.first.push_back({"megatron", {{"max_expert_parallel", std::to_string(most.expert)}}});
  return out;
}

namespace {

/// Answers of these planners, in parallel.
std::vector<PlannerAnswer> ask(const PlannerQueries& asking, const std::vector<PlannerChoice>& questions) {
  std::vector<std::size_t> order(questions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // A long search that begins last would leave the other threads idle, so long searches begin first.
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return takes_minutes(questions[i].name); });
  std::vector<PlannerAnswer> out(questions.size());
  core::parallel_in_order(order.size(),
                          [&](std::size_t n) { out[order[n]] = asking.answer(questions[order[n]]); });
  return out;
}

/// Error of a planner that supports every option and any number of devices, so that the problem or the user
/// causes it; otherwise the first error.
std::exception_ptr error_of(const std::vector<PlannerChoice>& questions,
                            const std::vector<PlannerAnswer>& answers) {
  for (const std::string_view telling : {"graphpipe_climb", "graphpipe_rows", "megatron", ""})
    for (std::size_t i = 0; i < questions.size(); ++i)
      if (answers[i].error && (telling.empty() || questions[i].name == telling)) return answers[i].error;
  return nullptr;
}

}  // namespace

StartPlans starts(const PlanSpace& space, const JointJudge& judge, const JointQuestions& questions,
                  core::StopToken stop) {
  AnswerProgress progress(space.options().progress, judge, questions.first.size() + questions.then.size());
  PlannerQueries asking(space, judge, stop, &progress);
  std::vector<PlannerAnswer> answers = ask(asking, questions.first);
  asking.give_up_beyond(answers);
  std::ranges::move(ask(asking, questions.then), std::back_inserter(answers));
  std::vector<PlannerChoice> asked = questions.first;
  asked.insert(asked.end(), questions.then.begin(), questions.then.end());
  StartPlans out;
  out.error = error_of(asked, answers);
  std::set<std::string> met;
  std::optional<PlanScore> part;
  std::size_t on_part = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    PlannerAnswer& answer = answers[i];
    if (of_part(asked[i])) {
      if (as_foretold(answer)) part = answer.plan->worth, on_part = evaluations(asked[i]);
    } else if (of_joint(asked[i]) && answer.plan) {
      out.judged += evaluations(asked[i]);
    }
    out.states += answer.states;
    out.complete = out.complete && !answer.late;
    if (answer.plan && met.insert(space.key(answer.plan->draft)).second)
      out.plans.push_back(std::move(*answer.plan));
  }
  std::ranges::stable_sort(out.plans, {}, &JudgedDraft::worth);
  if (part && *part <= out.plans.front().worth) out.judged += on_part;
  return out;
}

SearchResult start(const PlanSpace& space, const JointJudge& judge, const JointQuestions& questions,
                   const PlannerChoice& question, core::StopToken stop) {
  PlannerQueries asking(space, judge, stop);
  if (std::ranges::count(questions.first, question) == 0) asking.give_up_beyond(ask(asking, questions.first));
  return asking.called(question);
}

}  // namespace penstock::planners
