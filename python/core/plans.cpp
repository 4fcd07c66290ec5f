// Plans: searched for, read, compared, handed over.

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "aims.hpp"
#include "bind.hpp"
#include "events.hpp"
#include "interruptible.hpp"
#include "open_search.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/answer_page.hpp"
#include "penstock/experiment/compare.hpp"
#include "penstock/experiment/handover.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/experiment/provenance.hpp"
#include "penstock/experiment/search_limit.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/report/ranking.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "plan_state.hpp"
#include "rows.hpp"
#include "simulations.hpp"
#include "tables.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using Texts = std::vector<std::string>;

/// Flags for how planners search, as `penstock plan` has them.
struct SearchFlags {
  std::optional<std::int64_t> micro_batch, pipeline_micro_batch;
  std::optional<std::string> runnable_by;  ///< none: as `penstock plan` chooses; "any" or "": any plan
  bool per_stage_micro_batch = false, any_degree = false, by_estimate = false;
  int k = 1, top = 1;
  std::optional<double> time_limit_s;
  std::optional<std::int64_t> memory_limit_bytes;
  SimulationSetting simulation;

  experiment::SearchSetting setting() const;
};

template <class T>
void check_positive(const char* key, const std::optional<T>& value) {
  if (value && !(*value > 0)) throw core::BadInput({"", 0, key}, "expected a number above 0");
}

experiment::SearchSetting SearchFlags::setting() const {
  check_positive("micro_batch", micro_batch);
  check_positive("pipeline_micro_batch", pipeline_micro_batch);
  check_positive("time_limit", time_limit_s);
  check_positive("memory_limit", memory_limit_bytes);
  if (top < 1) throw core::BadInput({"", 0, "top"}, "expected a number above 0");
  if (k < 1) throw core::BadInput({"", 0, "k"}, "expected a number above 0");
  experiment::SearchSetting out;
  out.simulation = simulation.options();
  out.alone = true;
  if (time_limit_s) out.time_limit = core::Seconds(*time_limit_s);
  if (memory_limit_bytes) out.memory_limit = core::Bytes(*memory_limit_bytes);
  if (runnable_by && *runnable_by != "any") out.runnable_by = *runnable_by;
  out.options.micro_batch = micro_batch;
  out.options.pipeline_micro_batch = pipeline_micro_batch;
  out.options.per_stage_micro_batch = per_stage_micro_batch;
  out.options.any_degree = any_degree;
  out.options.judge_by_estimate = by_estimate;
  out.options.k = k;
  out.top = static_cast<std::size_t>(top);
  return out;
}

void bind_flags(nb::module_& m) {
  nb::class_<SearchFlags>(m, "SearchFlags")
      .def(nb::init<>())
      .def_rw("micro_batch", &SearchFlags::micro_batch, nb::arg().none())
      .def_rw("runnable_by", &SearchFlags::runnable_by, nb::arg().none())
      .def_rw("pipeline_micro_batch", &SearchFlags::pipeline_micro_batch, nb::arg().none())
      .def_rw("per_stage_micro_batch", &SearchFlags::per_stage_micro_batch)
      .def_rw("any_degree", &SearchFlags::any_degree)
      .def_rw("by_estimate", &SearchFlags::by_estimate)
      .def_rw("k", &SearchFlags::k)
      .def_rw("top", &SearchFlags::top)
      .def_rw("time_limit_s", &SearchFlags::time_limit_s, nb::arg().none())
      .def_rw("memory_limit_bytes", &SearchFlags::memory_limit_bytes, nb::arg().none())
      .def_prop_rw(
          "network", [](const SearchFlags& f) { return f.simulation.network; },
          [](SearchFlags& f, const std::string& name) { f.simulation.network = name; })
      .def_prop_rw(
          "collective", [](const SearchFlags& f) { return f.simulation.collective; },
          [](SearchFlags& f, const std::string& name) { f.simulation.collective = name; })
      .def_prop_rw(
          "pass_collectives", [](const SearchFlags& f) { return f.simulation.pass_collectives; },
          [](SearchFlags& f, const std::string& name) { f.simulation.pass_collectives = name; });
}

/// On the devices that a plan uses.
Problem on_its_devices(Problem about, const cluster::Cluster& used) {
  if (used.size() == about.cluster.cluster->size()) return about;
  about.cluster.cluster = std::make_shared<const cluster::Cluster>(used);
  about.cluster.ref.devices = static_cast<int>(used.size());
  return about;
}

/// Keeps what the search is about for planners written in Python.
OpenSearch::Inputs inputs(const Problem& about) {
  return [about](const graph::OpGraph& graph) -> std::optional<SearchInputs> {
    if (&graph != about.model.graph.get()) return std::nullopt;
    return SearchInputs{about.model.graph, about.costs, about.costs_path};
  };
}

/// A search with its limit, which is among the assumptions of the problem.
struct LimitedSearch {
  Problem about;
  experiment::SearchSetting setting;
  bool whole_layers = false;
};

/// `usual`: the limit where the user gives none.
LimitedSearch limited(Problem about, const SearchFlags& flags, const experiment::SearchLimit& usual) {
  LimitedSearch out{std::move(about), flags.setting()};
  const bool chosen = !flags.runnable_by;
  if (chosen) {
    out.setting.runnable_by = usual.framework;
    out.whole_layers = usual.whole_layers;
  }
  if (!out.setting.runnable_by.empty())
    out.about.limit = experiment::limit_assumption(out.setting.runnable_by, chosen);
  else if (out.whole_layers)
    out.about.limit = experiment::whole_layers_assumption();
  return out;
}

/// Limit of `penstock plan`, whose note about a model that Megatron-LM cannot train is left out.
experiment::SearchLimit usual_limit(const Model& model) {
  return model.released ? experiment::usual_limit(model.ref, *model.graph) : experiment::SearchLimit{};
}

/// By `planner`, which begins at `from` where there is one.
Plan searched(LimitedSearch search, const std::string& planner, const AimWords& words, const Plan* from,
              const Beat& beat) {
  const Problem& about = search.about;
  experiment::SearchSetting& setting = search.setting;
  experiment::Cell cell = about.cell();
  cell.planner = planners::planner_choice(planner);
  if (search.whole_layers) experiment::keep_layers_whole(cell.planner);
  const experiment::AimSetting aim = words.setting(*about.cluster.cluster);
  const OpenSearch open(inputs(about));
  auto found = searched_until_interrupt(
      [&](core::StopToken stop) {
        const cost::Problem problem = about.problem();
        std::optional<plan::Plan> start;
        if (from) experiment::complete(problem, start.emplace(from->plan), from->file);
        setting.options.from = start ? &*start : nullptr;
        return experiment::search_for(aim, problem, cell, setting, stop);
      },
      [&] { beat(); });
  plan::Plan plan = *found.outcome.plan;
  const Problem used = on_its_devices(about, found.cluster);
  Simulation simulation{used, std::move(found.outcome), setting.simulation, {}};
  if (found.reached.aim != experiment::SearchAim::time) simulation.reached = std::move(found.reached);
  return {used, std::move(plan), "plan", std::make_shared<Simulation>(std::move(simulation))};
}

Plan search(const Problem& about, const std::string& planner, const SearchFlags& flags, const AimWords& aim,
            const Beat& beat) {
  return searched(limited(about, flags, usual_limit(about.model)), planner, aim, nullptr, beat);
}

/// The problem of a plan, with the usual reserve where the plan leaves that much (experiment::usual_reserve).
Problem with_usual_reserve(const Plan& given) {
  Problem about = given.about;
  plan::Plan plan = given.plan;
  experiment::complete(about.problem(), plan, given.file);
  const auto reserved = experiment::usual_reserve(about.problem(), plan);
  if (!reserved) return about;
  about.cluster.cluster =
      std::make_shared<const cluster::Cluster>(about.cluster.cluster->reserving(*reserved));
  about.cluster.ref.reserved = reserved;
  return about;
}

Plan improve(const Plan& given, const std::string& planner, const SearchFlags& flags, const AimWords& aim,
             const Beat& beat) {
  const Problem about = with_usual_reserve(given);
  plan::Plan plan = given.plan;
  const cost::Problem problem = about.problem();
  experiment::complete(problem, plan, given.file);
  const experiment::SearchLimit near{.framework = experiment::framework_near(plan, problem)};
  return searched(limited(about, flags, near), planner, aim, &given, beat);
}

Plan load_plan(const std::string& path, const std::optional<Cluster>& cluster,
               const std::optional<std::string>& costs, bool allow_foreign) {
  const std::string text = core::read_file(path);
  plan::PlanHead head = plan::parse_plan_head(text, path);
  if (cluster) head.cluster = cluster->ref;
  auto read = experiment::read_plan(text, path, head, [&](const cluster::Cluster& stated) {
    auto out = experiment::load_costs(costs);
    if (!allow_foreign) experiment::check_device(*out, stated);
    return out;
  });
  Problem about{{std::make_shared<const graph::OpGraph>(std::move(read.graph)), read.plan.model, {}},
                {std::make_shared<const cluster::Cluster>(std::move(read.cluster)), read.plan.cluster},
                std::move(read.costs),
                read.plan.training,
                costs};
  about.stated = experiment::stated_by_plan(about.cluster.ref, *about.cluster.cluster, costs.has_value());
  return {std::move(about), std::move(read.plan), path, nullptr};
}

std::string to_yaml(const Plan& plan) {
  return plan::to_yaml(*plan.about.model.graph, plan.plan);
}

void save(const Plan& plan, const std::string& path) {
  core::write_file(path, plan::to_yaml(*plan.about.model.graph, plan::written_to(path, plan.plan)));
}

Texts violations(const Plan& given) {
  plan::Plan plan = given.plan;
  const cost::Problem problem = given.about.problem();
  auto structural = plan::structural_violations(problem.graph, problem.cluster, plan);
  if (!structural.empty()) return structural;
  experiment::derive_in_flight(problem, plan, given.file);
  return score::violations(problem, plan);
}

std::vector<std::int64_t> micro_batches(const Plan& given) {
  std::vector<std::int64_t> out;
  for (const plan::Stage& stage : given.plan.stages)  // which is not checked yet
    out.push_back(stage.sharing_replicas() < 1 ? stage.micro_batch
                                               : plan::samples_per_device(given.plan, stage));
  return out;
}

report::Provenance provenance_of(const char* what) {
  return experiment::provenance(fmt::format("penstock.{}", what));
}

/// Page as `penstock plan --page` writes it.
std::string page(const Plan& plan) {
  if (!plan.simulation)
    throw core::BadInput(
        "the plan has no simulation to draw: `plan` and `improve` return plans that have one");
  const Simulation& simulated = *plan.simulation;
  const Problem& about = simulated.about;
  const experiment::AimedPlan found{*about.cluster.cluster, simulated.outcome,
                                    simulated.reached.value_or(experiment::AimResult{})};
  return report::to_html(experiment::plan_page(about.problem(), found, simulated.options,
                                               provenance_of("plan"), in_python_words(about.assumptions())));
}

void bind_plan(nb::module_& m) {
  nb::class_<Plan>(m, "Plan", "Stages on devices with a schedule, and the problem they are for. Immutable.")
      .def_ro("problem", &Plan::about)
      .def_prop_ro("planner", [](const Plan& p) { return p.plan.planner; })
      .def_prop_ro("schedule", [](const Plan& p) { return p.plan.schedule; })
      .def_prop_ro("micro_batches", micro_batches, "Samples that a replica takes at a time, by stage.")
      .def_prop_ro(
          "simulation", [](const Plan& p) { return p.simulation; },
          nb::sig("def simulation(self) -> Simulation | None"),
          "The simulation of the search; None for a plan from a file (penstock.simulate).")
      .def_prop_ro(
          "complete", [](const Plan& p) { return !p.simulation || p.simulation->outcome.row.status == "ok"; },
          "False if a limit or Ctrl-C ended the search; the plan is then the best so far.")
      .def_static(
          "from_stages",
          [](const Problem& problem, const nb::object& stages, const std::string& schedule) {
            return nb::module_::import_("penstock._core").attr("plan_from_stages")(problem, stages, schedule);
          },
          "problem"_a, "stages"_a, "schedule"_a = "1f1b",
          nb::sig(
              "def from_stages(problem: Problem, stages: "
              "collections.abc.Iterable[collections.abc.Mapping[str, object]], schedule: str = '1f1b') -> "
              "Plan"),
          "A plan of these stages, in topological order. A stage is a mapping with the keys of a plan file: "
          "operators (names), devices (numbers), micro_batch (samples of all replicas together), and what a "
          "stage may have besides: tensor_parallel, zero, recompute, ... Not checked yet "
          "(penstock.validate). "
          "Raises BadInput naming stage and key.")
      .def(
          "__len__", [](const Plan& p) { return p.plan.stages.size(); }, "Number of stages.")
      .def("to_yaml", to_yaml, "The text of a plan file.")
      .def("save", save, "path"_a, "Writes a plan file.")
      .def(
          "page", [](const Plan& p) { return page(p); },
          "One HTML page, as `penstock plan --page` writes it. Raises BadInput for a plan that was not "
          "simulated.")
      .def(
          "order_csv", [](const Plan& p) { return frameworks::order_csv(p.plan); },
          "The order of its passes as torch.distributed.pipelining loads it.")
      .def("__getstate__", state_of)
      .def("__setstate__", [](Plan& self, const PlanState& state) { new (&self) Plan(plan_of(state)); })
      .def("__str__", to_yaml)
      .def("_repr_html_",
           [](nb::handle self) { return nb::module_::import_("penstock._show").attr("plan")(self); })
      .def("__repr__", [](const Plan& p) {
        return fmt::format("<penstock.Plan by {}: {} stages, {}>", p.plan.planner, p.plan.stages.size(),
                           p.plan.schedule);
      });
  m.def("search", search, "problem"_a, "planner"_a, "flags"_a, "aim"_a, "beat"_a);
  m.def("improve", improve, "plan"_a, "planner"_a, "flags"_a, "aim"_a, "beat"_a);
  m.def("load_plan", load_plan, "path"_a, "cluster"_a.none(), "costs"_a.none(), "allow_foreign"_a);
  m.def(
      "is_plan_file", [](const std::string& path) { return plan::is_plan_file(core::read_file(path)); },
      "path"_a);
  m.def("violations", violations, "plan"_a);
}

/// A comparison with the data that its page needs.
struct PlanComparison : experiment::PlannerComparison {
  Problem about;
  sim::SimulationOptions simulation;
};

/// Each row is handed to `told` as row, done, all; `told` may be None.
PlanComparison compare(const Problem& given, const std::string& planners, const SearchFlags& flags,
                       const AimWords& words, const nb::object& told) {
  auto [about, setting, whole_layers] = limited(given, flags, usual_limit(given.model));
  const experiment::AimSetting aim = words.setting(*about.cluster.cluster);
  auto choices = experiment::planner_choices(planners, "planners");
  if (whole_layers) std::ranges::for_each(choices, experiment::keep_layers_whole);
  setting.keep_trace = false;
  const OpenSearch open(inputs(about));
  PendingEvents events;
  experiment::CompareProgress progress;
  if (!told.is_none())
    progress.ends = [&](const report::CellResult& row, std::size_t done, std::size_t all) {
      events.add([&told, row, done, all] { told(row, done, all); });
    };
  auto out = interruptible(
      [&](core::StopToken stop) {
        return experiment::compare(about.problem(), about.cell(), choices, setting, stop, progress, aim);
      },
      [&] { events.hand_over(); });
  out.heading += in_python_words(about.assumptions()) + "\n";
  return {std::move(out), about, setting.simulation};
}

std::string to_text(const PlanComparison& comparison) {
  return experiment::comparison_table(comparison);
}

std::string table(const PlanComparison& comparison, const std::string& format, const Texts& columns,
                  const std::optional<std::string>& baseline) {
  const TableChoice choice{format, columns, baseline};
  if (choice.plain() && format == "text") return to_text(comparison);
  if (choice.plain() && format == "csv") return experiment::comparison_csv(comparison);
  if (choice.plain() && format == "json") {
    experiment::PlannerComparison known = comparison;
    known.assumptions = comparison.about.assumptions();
    return experiment::comparison_json(known, provenance_of("compare"));
  }
  return table_text({comparison.rows, provenance_of("compare")}, choice);
}

std::string page(const PlanComparison& comparison, const std::optional<std::string>& baseline) {
  report::Page out = experiment::comparison_page(comparison.about.problem(), comparison,
                                                 comparison.simulation, provenance_of("compare"));
  choose_baseline(out.results, {"html", {}, baseline});
  return report::to_html(out);
}

void bind_comparison(nb::module_& m) {
  nb::class_<PlanComparison>(m, "Comparison", "Planners on one problem, the fastest plan first. Immutable.")
      .def_ro("rows", &PlanComparison::rows)
      .def_ro("reached", &PlanComparison::reached,
              "The ranking value of each row, None for a row without a plan. Empty if the rows are ranked by "
              "time.")
      .def_ro("heading", &PlanComparison::heading, "The problem, in words.")
      .def_ro("bounds", &PlanComparison::bounds, "Lower bounds by what plans divide, a line each.")
      .def("__len__", [](const PlanComparison& c) { return c.rows.size(); })
      .def_prop_ro(
          "assumptions", [](const PlanComparison& c) { return in_python_words(c.about.assumptions()); },
          "The assumptions about the problem, in one line.")
      .def("table", table, "format"_a = "text", "columns"_a = Texts(), "baseline"_a = nb::none(),
           "The table as text, csv, json, markdown or latex (penstock.report).")
      .def(
          "page",
          [](const PlanComparison& c, const std::optional<std::string>& baseline) {
            return page(c, baseline);
          },
          "baseline"_a = nb::none(), "One HTML page, as `penstock compare --page` writes it.")
      .def(
          "svg", [](const PlanComparison& c) { return experiment::comparison_svg(c); },
          "A picture: every plan as a bar, with its gap to the bound and its planner's limits.")
      .def(
          "to_csv", [](const PlanComparison& c) { return experiment::comparison_csv(c); },
          "The text that `penstock compare --csv` writes.")
      .def(
          "to_pandas", [](const PlanComparison& c) { return to_pandas(experiment::comparison_csv(c)); },
          "to_csv as a DataFrame. Raises ImportError without pandas.")
      .def("_repr_html_",
           [](nb::handle self) { return nb::module_::import_("penstock._show").attr("comparison")(self); })
      .def("__str__", to_text)
      .def("__repr__", [](const PlanComparison& c) {
        return fmt::format("<penstock.Comparison of {} planners, {} the fastest>", c.rows.size(),
                           c.rows.empty() ? "none" : c.rows.front().planner);
      });
  m.def("compare", compare, "problem"_a, "planners"_a, "flags"_a, "aim"_a, "told"_a.none());
}

/// A plan in a framework's words.
struct PlanHandover {
  std::string framework, text;
  std::optional<std::string> order_csv;
  Plan plan;      ///< that is handed over
  Texts refused;  ///< why it is not the plan given; empty: it is
  std::string nearest;
};

PlanHandover handover(const Plan& given, const std::string& to, const std::optional<std::string>& csv,
                      bool nearest, const std::string& version) {
  const auto& framework = frameworks::framework_named(to, version);
  if (csv && !framework.can.any_order)
    throw core::BadInput({"", 0, "csv"}, framework.title + " reads no order of passes from a file");
  Plan out = given;
  out.plan.model = experiment::resolved(out.plan.model);  // writers name modules by the zoo's families
  const cost::Problem problem = out.about.problem();
  experiment::complete(problem, out.plan, given.file);
  auto able = experiment::runnable(framework, problem, out.plan, given.file, csv.has_value());
  if (!able.refused.empty()) {
    if (!able.plan || !nearest)
      experiment::refuse(framework, able, given.file, able.plan ? " (nearest=True)" : "");
    out = {out.about, std::move(*able.plan), "nearest plan", nullptr};
    out.about.training = out.plan.training;
  }
  std::string text = frameworks::exported(framework, problem.graph, out.plan, csv.value_or(""));
  return {framework.name,
          std::move(text),
          csv ? std::optional(frameworks::order_csv(out.plan)) : std::nullopt,
          std::move(out),
          std::move(able.refused),
          std::move(able.nearest)};
}

void bind_handover(nb::module_& m) {
  nb::class_<PlanHandover>(m, "Handover", "A plan in a training framework's words. Immutable.")
      .def_ro("framework", &PlanHandover::framework)
      .def_ro("text", &PlanHandover::text, "Its flags or configuration.")
      .def_ro("order_csv", &PlanHandover::order_csv,
              "The order of passes, if export() was called with a file name for it.")
      .def_ro("plan", &PlanHandover::plan,
              "The exported plan: the given one, or the nearest that the framework can run.")
      .def_ro("refused", &PlanHandover::refused,
              "Reasons why the framework cannot run the given plan; empty if it can.")
      .def_ro("nearest", &PlanHandover::nearest, "The nearest plan beside the given one, in words.")
      .def("__str__", [](const PlanHandover& h) { return h.text; })
      .def("__repr__", [](const PlanHandover& h) {
        return fmt::format("<penstock.Handover to {}{}>", h.framework,
                           h.refused.empty() ? "" : ", of the nearest plan");
      });
  m.def("handover", handover, "plan"_a, "to"_a, "csv"_a.none(), "nearest"_a, "version"_a);
}

}  // namespace

void bind_plans(nb::module_& m) {
  bind_flags(m);
  bind_plan(m);
  bind_comparison(m);
  bind_handover(m);
}

}  // namespace penstock::python
