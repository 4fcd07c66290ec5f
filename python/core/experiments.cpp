// Whole experiments: read, run, their results.

#include "experiments.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.hpp"
#include "events.hpp"
#include "interruptible.hpp"
#include "open_search.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/provenance.hpp"
#include "penstock/experiment/schedule_study.hpp"
#include "penstock/report/comparison.hpp"
#include "rows.hpp"
#include "tables.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using Row = report::CellResult;
constexpr report::ColumnGroups kEverything{.axes = true, .origin = true};

/// Identity of this module's build.
std::string program(const report::Provenance& provenance) {
  static const std::string out = [&] {
    Dl_info here{};
    dladdr(reinterpret_cast<const void*>(&program), &here);
    return experiment::program(provenance, here.dli_fname);
  }();
  return out;
}

Experiment load(const std::string& path, const experiment::Overrides& overrides) {
  std::string text = core::read_file(path);
  if (experiment::is_schedule_study(text, path))
    throw core::BadInput({path, 0, "pipelines"},
                         "schedules alone take no search: `penstock run` does them, penstock.schedule one");
  auto spec = experiment::parse_spec(text, path, overrides);
  return {std::move(text), path, overrides, std::move(spec)};
}

std::set<std::string> planner_names(const Experiment& e) {
  std::set<std::string> out;
  for (const experiment::Cell& cell : e.spec.cells) out.insert(cell.planner.name);
  return out;
}

using State = std::tuple<std::string, std::string, experiment::Overrides, experiment::InputSnapshot::Texts>;

void bind_experiment(nb::module_& m) {
  nb::class_<Experiment>(m, "Experiment",
                         "An experiment file with all that it names, as it was read. Immutable; pickled with "
                         "the texts of its files.")
      .def(
          "__init__",
          [](Experiment* self, const std::string& path, const experiment::Overrides& overrides) {
            new (self) Experiment(load(path, overrides));
          },
          "path"_a, "overrides"_a)
      .def_prop_ro("name", [](const Experiment& e) { return e.spec.name; })
      .def_prop_ro("summary", [](const Experiment& e) { return e.spec.summary; })
      .def_prop_ro("planners", planner_names, "Names of the planners that its cells ask, each once.")
      .def_prop_ro(
          "alone", [](const Experiment& e) { return e.spec.searches_one_by_one(); },
          "Whether a process runs one cell at a time, since its time and memory are measured.")
      .def("__len__", [](const Experiment& e) { return e.spec.cells.size(); })
      .def("__getstate__",
           [](const Experiment& e) { return State(e.text, e.path, e.overrides, e.spec.inputs->texts()); })
      .def("__setstate__",
           [](Experiment& self, const State& state) {
             const auto& [text, path, overrides, texts] = state;
             new (&self)
                 Experiment{text, path, overrides, experiment::parse_spec(text, path, overrides, texts)};
           })
      .def("__repr__", [](const Experiment& e) {
        return fmt::format("<penstock.Experiment {}: {} cells>", e.spec.name, e.spec.cells.size());
      });
}

struct ExperimentResults {
  std::string folder, baseline;
  experiment::RunOutcome outcome;
};

/// Baseline of the experiment's file, where a row is of it.
std::optional<std::string> stated_baseline(const ExperimentResults& results) {
  const auto& rows = results.outcome.rows;
  const bool there =
      std::ranges::any_of(rows, [&](const Row& row) { return row.planner == results.baseline; });
  return there ? std::optional(results.baseline) : std::nullopt;
}

std::string to_text(const ExperimentResults& results) {
  const std::string& claims = results.outcome.claims;
  return report::comparison(results.outcome.rows, results.baseline, false) +
         (claims.empty() ? "" : "\n" + claims);
}

std::string table(const ExperimentResults& results, const std::string& format,
                  const std::vector<std::string>& columns, const std::optional<std::string>& baseline) {
  const TableChoice choice{format, columns, baseline ? baseline : stated_baseline(results)};
  if (format == "text" && columns.empty() && !baseline) return to_text(results);
  return table_text({results.outcome.rows, experiment::provenance("penstock.run")}, choice);
}

std::string csv(const ExperimentResults& results) {
  return report::to_csv(results.outcome.rows, kEverything);
}

void bind_run(nb::module_& m) {
  nb::class_<RunSetting>(m, "RunSetting")
      .def(
          "__init__",
          [](RunSetting* self, const std::string& folder, const std::string& cache,
             const std::string& command, const std::vector<std::string>& only) {
            new (self) RunSetting{folder, cache, command, only};
          },
          "folder"_a, "cache"_a, "command"_a, "only"_a);
  nb::class_<ExperimentResults>(m, "Results", "Results of an experiment, and their folder. Immutable.")
      .def_ro("folder", &ExperimentResults::folder)
      .def_prop_ro(
          "rows", [](const ExperimentResults& r) { return r.outcome.rows; },
          "One per cell, in the order of the file.")
      .def_prop_ro(
          "claims", [](const ExperimentResults& r) { return r.outcome.claims; },
          "Verdicts on the papers' claims in the file; empty if there are none, or cells are missing.")
      .def("__len__", [](const ExperimentResults& r) { return r.outcome.rows.size(); })
      .def("table", table, "format"_a = "text", "columns"_a = std::vector<std::string>(),
           "baseline"_a = nb::none(), "The rows as text, csv, json, markdown or latex (penstock.report).")
      .def("to_csv", csv, "Every column of every row.")
      .def(
          "to_pandas", [](const ExperimentResults& r) { return to_pandas(csv(r)); },
          "to_csv as a DataFrame. Raises ImportError without pandas.")
      .def("_repr_html_",
           [](nb::handle self) { return nb::module_::import_("penstock._show").attr("results")(self); })
      .def("__str__", to_text)
      .def("__repr__", [](const ExperimentResults& r) {
        return fmt::format("<penstock.Results of {} cells in {}>", r.outcome.rows.size(), r.folder);
      });
}

/// Inputs of all cells, for planners written in Python.
OpenSearch::Inputs inputs(const experiment::Spec& spec) {
  return [&spec](const graph::OpGraph& graph) -> std::optional<SearchInputs> {
    for (const experiment::Cell& cell : spec.cells)
      if (&spec.inputs->model(cell.model) == &graph)
        return SearchInputs{{spec.inputs, &graph}, spec.inputs->costs(spec.costs), spec.costs};
    return std::nullopt;
  };
}

/// Each row is handed to `told` as row, done, all; `told` may be None. With the error of the first cell that
/// failed.
std::pair<ExperimentResults, nb::object> run_experiment(const Experiment& experiment,
                                                        const RunSetting& setting, bool again,
                                                        const nb::object& told) {
  const OpenSearch open(inputs(experiment.spec));
  PendingEvents events;
  experiment::RunOptions options = setting.options();
  options.again = again;
  if (!told.is_none())
    options.progress = [&](std::size_t done, std::size_t all, const Row& row, bool) {
      events.add([&told, row, done, all] { told(row, done, all); });
    };
  auto outcome =
      interruptible([&](core::StopToken stop) { return experiment::run(experiment.spec, options, stop); },
                    [&] { events.hand_over(); });
  nb::object error = as_exception(outcome.error);
  return {ExperimentResults{setting.folder, experiment.spec.baseline, std::move(outcome)}, std::move(error)};
}

}  // namespace

experiment::RunOptions RunSetting::options() const {
  experiment::RunOptions out;
  out.folder = folder;
  out.cache = cache;
  out.only = only;
  out.provenance = experiment::provenance(command);
  out.program = program(out.provenance);
  return out;
}

void bind_experiments(nb::module_& m) {
  bind_experiment(m);
  bind_run(m);
  m.def("run_experiment", run_experiment, "experiment"_a, "setting"_a, "again"_a, "told"_a.none(),
        nb::sig(
            "def run_experiment(experiment: Experiment, setting: RunSetting, again: bool, told: "
            "collections.abc.Callable[[Row, int, int], object] | None) -> tuple[Results, Exception | None]"));
}

}  // namespace penstock::python
