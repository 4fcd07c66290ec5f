// Searches.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/core/thread_limit.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "properties/property.hpp"

namespace penstock::properties {
namespace {

using planners::PlannerChoice;

struct FoundPlan {
  double seconds;
  plan::Plan plan;
};

/// The result of the planner, by the search of `plan`; empty if nothing fits. NotConcerned if the planner
/// does not take the problem.
std::optional<FoundPlan> planned(const cost::Problem& problem, const PlannerChoice& planner,
                                 const plan::Plan* from = nullptr,
                                 std::optional<std::int64_t> micro_batch = {}) {
  experiment::Cell cell{{"random", {}},
                        {"random", static_cast<int>(problem.cluster.size())},
                        planner,
                        problem.training,
                        micro_batch};
  experiment::SearchSetting setting;
  setting.options.micro_batch = micro_batch;
  setting.options.from = from;
  setting.keep_trace = false;
  try {
    auto outcome = experiment::search(problem, cell, setting, {});
    return FoundPlan{*outcome.row.iteration_s, std::move(*outcome.plan)};
  } catch (const core::Infeasible&) {
    return {};
  } catch (const core::BadInput&) {
    throw NotConcerned();
  }
}

/// The answer for a problem, kept for the last few problems because several properties use one answer.
std::optional<FoundPlan> known(const BuiltProblem& world, const std::string& planner) {
  static std::map<std::pair<std::uint64_t, std::string>, std::optional<FoundPlan>> answers;
  const std::pair key(world.id(), planner);
  if (const auto found = answers.find(key); found != answers.end()) return found->second;
  if (answers.size() > 64) answers.clear();
  return answers[key] = planned(world.problem(), planners::planner_choice(planner));
}

/// Problems of which every plan can be tried.
void small_only(const BuiltProblem& world) {
  if (world.graph().size() > 6 || world.cluster().size() > 4 || world.spec().training.mini_batch > 16)
    throw NotConcerned();
}

const char* const kJoint = "joint:evaluations=300";

Property joint_not_above(const std::string& planner) {
  return {"joint_not_above_" + planner, "joint's plan is no slower than that of " + planner,
          [planner](const BuiltProblem& w) {
            small_only(w);
            const auto other = known(w, planner);
            if (!other || plan::asynchronous(other->plan)) throw NotConcerned();
            const auto joint = known(w, kJoint);
            if (!joint) return std::string("joint finds no plan");
            return not_above(joint->seconds, other->seconds, "joint, and " + planner, 1e-9);
          }};
}

/// joint with its default budget in a smaller space, and in the whole. Small budgets end before that.
Property joint_not_above_without(const std::string& name, const std::string& limit) {
  return {"joint_not_above_" + name, "joint's plan is no slower than its own with " + limit,
          [limit](const BuiltProblem& w) {
            if (w.graph().size() > 40 || w.cluster().size() > 4 || w.spec().training.mini_batch > 16)
              throw NotConcerned();
            const auto less = known(w, "joint:" + limit);
            if (!less) throw NotConcerned();
            const auto joint = known(w, "joint");
            if (!joint) return "joint finds a plan with " + limit + " alone";
            return not_above(joint->seconds, less->seconds, "joint, and with " + limit, 1e-9);
          }};
}

Property plans_are_valid(const std::string& planner) {
  return {"plans_are_valid_" + planner, "what " + planner + " finds is valid, and no bound is above it",
          [planner](const BuiltProblem& w) {
            const auto found = known(w, planner);
            if (!found) throw NotConcerned();
            const auto violations = score::violations(w.problem(), found->plan);
            if (!violations.empty()) return violations.front();
            if (plan::asynchronous(found->plan))
              return std::string();  // falls short of it by what it began with
            const double bound = score::bound_for(w.problem(), found->plan).time.value();
            return not_above(bound, found->seconds + rounding(found->plan), "bound", 0);
          }};
}

/// Another order of the same operators.
std::vector<OperatorSpec> reordered(const std::vector<OperatorSpec>& operators, core::Random& random) {
  std::vector<std::size_t> place(operators.size(), operators.size());
  std::vector<OperatorSpec> out;
  while (out.size() < operators.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t v = 0; v < operators.size(); ++v)
      if (place[v] == operators.size() && std::ranges::all_of(operators[v].inputs, [&](std::size_t from) {
            return place[from] < operators.size();
          }))
        ready.push_back(v);
    const std::size_t v =
        ready[static_cast<std::size_t>(random.between(0, static_cast<int>(ready.size()) - 1))];
    place[v] = out.size();
    OperatorSpec op = operators[v];
    for (std::size_t& from : op.inputs) from = place[from];
    out.push_back(std::move(op));
  }
  return out;
}

std::string compare(const BuiltProblem& world, const BuiltProblem& other, const std::string& planner,
                    const std::string& what) {
  const auto a = planned(world.problem(), planners::planner_choice(planner)),
             b = planned(other.problem(), planners::planner_choice(planner));
  if (!a != !b) return planner + " finds a plan of one of them alone: " + what;
  if (!a) throw NotConcerned();
  return equal(a->seconds, b->seconds, planner + ", " + what, 1e-9);
}

Property order_does_not_matter(const std::string& planner) {
  return {"order_of_operators_" + planner, planner + " finds as fast a plan whatever the order of a file is",
          [planner](const BuiltProblem& w) {
            if (w.spec().operators.empty()) throw NotConcerned();
            core::Random random(w.spec().seed + 5);
            ProblemSpec spec = w.spec();
            spec.operators = reordered(spec.operators, random);
            const BuiltProblem other(spec);
            return compare(w, other, planner, "operators in another order");
          }};
}

std::string names_do_not_matter(const BuiltProblem& world) {
  if (world.spec().operators.empty()) throw NotConcerned();
  ProblemSpec spec = world.spec();
  for (OperatorSpec& op : spec.operators) op.name = "other_" + op.name;
  const BuiltProblem other(spec);
  return compare(world, other, "spp", "operators of other names");
}

std::string threads_do_not_matter(const BuiltProblem& world) {
  for (const char* planner : {"spp", "graphpipe", "megatron", "aceso"}) {
    std::optional<FoundPlan> one, many;
    {
      const core::ThreadLimit limit(1);
      one = planned(world.problem(), planners::planner_choice(planner));
    }
    {
      const core::ThreadLimit limit(4);
      many = planned(world.problem(), planners::planner_choice(planner));
    }
    if (!one != !many) return fmt::format("{} finds a plan with one number of threads alone", planner);
    if (one && plan::to_yaml(world.graph(), one->plan) != plan::to_yaml(world.graph(), many->plan))
      return fmt::format("{} finds other plans with one thread and with four", planner);
  }
  return "";
}

std::string joint_threads(const BuiltProblem& world) {
  small_only(world);
  std::optional<FoundPlan> one;
  {
    const core::ThreadLimit limit(1);
    one = planned(world.problem(), planners::planner_choice(kJoint));
  }
  const auto many = known(world, kJoint);
  if (!one != !many) return "joint finds a plan with one number of threads alone";
  if (!one) throw NotConcerned();
  return equal(one->seconds, many->seconds, "joint with one thread and with all", 0);
}

std::string improve_not_above(const BuiltProblem& world) {
  const plan::Plan& plan = plan_or_skip(world);
  if (world.graph().size() > 12 || plan::asynchronous(plan)) throw NotConcerned();
  const double before =
      to_seconds(sim::simulate_time(world.problem(), score::scheduled(world.problem(), plan))).value();
  const auto after = planned(world.problem(), planners::planner_choice(kJoint), &plan);
  if (!after) return "improve finds no plan, not even its input";
  return not_above(after->seconds, before, "improve, and its input", 1e-9);
}

Property free_not_above_pinned(const std::string& planner) {
  return {"free_not_above_pinned_" + planner, planner + " pinned to a micro-batch is no faster than free",
          [planner](const BuiltProblem& w) {
            const auto free = known(w, planner);
            std::string bad;
            bool any = false;
            for (std::int64_t size = 1; size <= w.spec().training.mini_batch && bad.empty(); size *= 2) {
              const auto pinned = planned(w.problem(), planners::planner_choice(planner), nullptr, size);
              if (!pinned) continue;
              any = true;
              bad = free ? not_above(free->seconds, pinned->seconds,
                                     fmt::format("free, and pinned to {}", size), 1e-9)
                         : fmt::format("a plan with micro-batches of {} alone", size);
            }
            if (!any) throw NotConcerned();
            return bad;
          }};
}

std::string more_memory_not_slower(const BuiltProblem& world) {
  small_only(world);
  const auto tight = known(world, "exhaustive");
  if (!tight) throw NotConcerned();
  ProblemSpec spec = world.spec();
  spec.cluster.memory *= 4;
  const BuiltProblem ample(spec);
  const auto found = planned(ample.problem(), planners::planner_choice("exhaustive"));
  if (!found) return "no plan with more memory";
  return not_above(found->seconds, tight->seconds, "with more memory, and with less", 1e-9);
}

std::string what_if_nothing(const BuiltProblem& world) {
  const plan::Plan& plan = plan_or_skip(world);
  const double today =
      to_seconds(sim::simulate_time(world.problem(), score::scheduled(world.problem(), plan))).value();
  const cost::Problem problem{world.graph(), world.cluster().slowed_by(1), world.costs(),
                              world.spec().training};
  return equal(today, to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value(),
               "kernels slowed by one", 0);
}

std::string plans_read_back(const BuiltProblem& world) {
  const auto found = known(world, "graphpipe");
  if (!found) throw NotConcerned();
  const std::string text = plan::to_yaml(world.graph(), found->plan);
  const plan::Plan read = plan::parse_plan(text, "plan.yaml", world.graph());
  return equal(
      found->seconds,
      to_seconds(sim::simulate_time(world.problem(), score::scheduled(world.problem(), read))).value(),
      "a plan's time, and that of its file", 1e-9);
}

std::string searched_twice(const BuiltProblem& world) {
  const auto again = planned(world.problem(), planners::planner_choice("graphpipe"));
  const auto found = known(world, "graphpipe");
  if (!found != !again) return "found once of two times";
  if (!found) throw NotConcerned();
  return plan::to_yaml(world.graph(), found->plan) == plan::to_yaml(world.graph(), again->plan)
             ? ""
             : "two searches find two plans";
}

}  // namespace

std::vector<Property> of_planners() {
  std::vector<Property> out;
  for (const char* planner :
       {"spp", "graphpipe", "dapple", "megatron", "data_parallel", "pipedream", "exhaustive"})
    if (std::string(planner) != "exhaustive")
      out.push_back(plans_are_valid(planner));
    else
      out.push_back({"plans_are_valid_exhaustive", "what exhaustive finds is valid, and no bound is above it",
                     [check = plans_are_valid(planner).check](const BuiltProblem& w) {
                       small_only(w);
                       return check(w);
                     }});
  for (const char* planner : {"exhaustive", "megatron", "spp", "graphpipe", "dapple"})
    out.push_back(joint_not_above(planner));
  out.push_back(joint_not_above_without("whole_layers", "units=layers"));
  for (const char* planner : {"spp", "graphpipe", "dapple"}) out.push_back(order_does_not_matter(planner));
  out.push_back({"order_of_operators_joint", "joint finds as fast a plan whatever the order of a file is",
                 [check = order_does_not_matter(kJoint).check](const BuiltProblem& w) {
                   small_only(w);
                   return check(w);
                 }});
  for (const char* planner : {"spp", "graphpipe", "megatron"}) out.push_back(free_not_above_pinned(planner));
  out.push_back(
      {"improve_not_above_input", "improve hands over no slower plan than its input", improve_not_above});
  out.push_back({"more_memory_is_not_slower", "exhaustive finds no slower plan with more memory",
                 more_memory_not_slower});
  out.push_back({"names_do_not_matter", "operators of other names make no other plan", names_do_not_matter});
  out.push_back(
      {"threads_do_not_matter", "planners find one plan with any number of threads", threads_do_not_matter});
  out.push_back(
      {"joint_threads_do_not_matter", "joint finds one plan with any number of threads", joint_threads});
  out.push_back({"nothing_changed_is_nothing", "kernels slowed by one take as long", what_if_nothing});
  out.push_back({"found_plans_read_back", "a plan that was found takes as long when read from its file",
                 plans_read_back});
  out.push_back({"searched_twice_is_one_plan", "two searches find one plan", searched_twice});
  return out;
}

}  // namespace penstock::properties
