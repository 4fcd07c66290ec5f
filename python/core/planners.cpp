// Planners written in Python: called by searches as those of the catalogue are.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "bind.hpp"
#include "open_search.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "values.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

/// Raises KeyboardInterrupt in the thread that made it, which runs Python, once `stop` is requested.
class KeyboardInterrupter {
 public:
  explicit KeyboardInterrupter(core::StopToken stop)
      : thread_([this, stop, who = PyThread_get_thread_ident()](std::stop_token over) {
          watch(stop, who, over);
        }) {}
  /// The calling thread holds the interpreter's lock, for which the other one may wait.
  ~KeyboardInterrupter() {
    const nb::gil_scoped_release unlocked;
    thread_.request_stop();
    thread_.join();
  }
  KeyboardInterrupter(const KeyboardInterrupter&) = delete;
  KeyboardInterrupter& operator=(const KeyboardInterrupter&) = delete;

 private:
  /// Again and again: the function may catch the exception and go on.
  void watch(core::StopToken stop, unsigned long who, std::stop_token over) {
    constexpr std::chrono::milliseconds kBeat(50);
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, over, kBeat, [&] { return over.stop_requested(); })) {
      if (!stop.requested()) continue;
      const nb::gil_scoped_acquire locked;
      if (!over.stop_requested()) PyThreadState_SetAsyncExc(who, PyExc_KeyboardInterrupt);
    }
  }

  std::mutex mutex_;
  std::condition_variable_any ends_;
  std::jthread thread_;
};

/// The problem as Python may keep it.
Problem python_problem(const cost::Problem& problem, const planners::SearchOptions& options) {
  SearchInputs inputs = inputs_of(problem.graph);
  Problem out{{std::move(inputs.graph), options.model, {}},
              {std::make_shared<const cluster::Cluster>(problem.cluster), options.cluster},
              std::move(inputs.costs),
              problem.training,
              std::move(inputs.costs_path),
              problem.memory};
  out.cluster.ref.devices = static_cast<int>(problem.cluster.size());
  return out;
}

/// The plan with operators as the problem numbers them; that of another model is read by their names.
plan::Plan on_graph(const Plan& given, const cost::Problem& problem, const std::string& who) {
  if (given.about.model.graph.get() == &problem.graph) return given.plan;
  return plan::parse_plan(plan::to_yaml(*given.about.model.graph, given.plan), who, problem.graph);
}

/// Throws if the function's answer is an error, or a plan that is none.
plan::Plan called(const std::string& name, const cost::Problem& problem,
                  const planners::SearchOptions& options, core::StopToken stop) {
  const nb::gil_scoped_acquire locked;
  const KeyboardInterrupter interrupter(stop);
  try {
    const nb::object answer =
        nb::module_::import_("penstock._planners")
            .attr("answer")(name, python_problem(problem, options), options.micro_batch, options.own);
    const auto kind = nb::cast<std::string>(answer.attr("kind"));
    if (kind == "plan")
      return on_graph(nb::cast<const Plan&>(answer.attr("plan")), problem, "planner " + name);
    const auto words = nb::cast<std::string>(answer.attr("words"));
    if (kind == "infeasible") throw core::Infeasible(words);
    stop.check();
    throw core::BadInput(words);
  } catch (const nb::python_error& error) {  // interrupted between the function and its answer
    stop.check();
    throw core::Error(core::ExitCode::internal, error.what());
  }
}

/// Lists what is wrong with the plan.
void check(const std::string& name, const cost::Problem& problem, plan::Plan& plan) {
  auto violations = plan::structural_violations(problem.graph, problem.cluster, plan);
  if (violations.empty()) {
    score::derive_in_flight(problem, plan);
    violations = score::violations(problem, plan);
  }
  if (!violations.empty())
    throw core::Error(core::ExitCode::invalid_plan, fmt::format("planner {}: the plan is not valid: {}", name,
                                                                fmt::join(violations, "; ")));
}

planners::SearchResult ask(const std::string& name, const cost::Problem& problem,
                           const planners::SearchOptions& options, core::StopToken stop) {
  stop.check();
  planners::SearchResult out{called(name, problem, options, stop)};
  out.plan.training = problem.training;
  check(name, problem, out.plan);
  return out;
}

/// An option as a function's parameter has it: name, default, allowed values, and what others are where any
/// text may be one.
using Option = std::tuple<std::string, std::string, std::vector<std::string>, std::string>;

void add_planner(const std::string& name, const std::string& summary, const std::vector<Option>& options) {
  planners::PlannerInfo info{name, summary, "the calling program's", "", {}};
  for (const auto& [option, standard, values, free] : options)
    info.options.push_back(
        {.name = option, .meaning = {}, .standard = standard, .values = values, .free = free});
  info.plan = [name](const cost::Problem& problem, const planners::SearchOptions& options,
                     core::StopToken stop) { return ask(name, problem, options, stop); };
  planners::replace_planner(std::move(info));
}

}  // namespace

void bind_planners(nb::module_& m) {
  m.def("add_planner", add_planner, "name"_a, "summary"_a, "options"_a);
}

}  // namespace penstock::python
