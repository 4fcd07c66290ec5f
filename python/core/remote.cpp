// Cells of an experiment as tasks for other processes.

#include "penstock/experiment/remote.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "experiments.hpp"
#include "interruptible.hpp"
#include "penstock/core/thread_limit.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using experiment::RemoteCell;
using Names = std::vector<std::string>;
using State = std::tuple<std::size_t, std::string, std::string, std::string, std::string, Names, Names>;

void bind_cell(nb::module_& m) {
  nb::class_<RemoteCell>(m, "RemoteCell",
                         "A cell as another process is told of it. Immutable; can be pickled.")
      .def_ro("name", &RemoteCell::name)
      .def_ro("first", &RemoteCell::first, "Planners whose answers the cell's search begins with.")
      .def_ro("then", &RemoteCell::then, "The others, which go by the answers of the first.")
      .def("__getstate__",
           [](const RemoteCell& c) {
             return State(c.cell, c.name, c.key, c.model, c.cluster, c.first, c.then);
           })
      .def("__setstate__", [](RemoteCell& self, const State& state) {
        const auto& [cell, name, key, model, cluster, first, then] = state;
        new (&self) RemoteCell{cell, name, key, model, cluster, first, then};
      });
}

/// Work of a worker, on so many threads; `beat` is called while it runs, and ends it by raising.
template <class Work>
auto at_work(int threads, const Beat& beat, const Work& work) {
  return interruptible(
      [&](core::StopToken stop) {
        const core::ThreadLimit limit(threads);
        return work(stop);
      },
      [&] { beat(); });
}

std::string run_start(const Experiment& given, const RemoteCell& cell, const std::string& planner,
                      const experiment::Answers& answers, int threads, const Beat& beat) {
  const auto options = RunSetting{}.options();
  return at_work(threads, beat, [&](core::StopToken stop) {
    return experiment::run_start(given.spec, cell, planner, answers, options, stop);
  });
}

std::pair<nb::bytes, nb::object> run_remote(const Experiment& given, const RemoteCell& cell,
                                            const experiment::Answers& answers, int threads,
                                            const Beat& beat) {
  const auto options = RunSetting{}.options();
  const auto found = at_work(threads, beat, [&](core::StopToken stop) {
    return experiment::run_remote(given.spec, cell, answers, options, stop);
  });
  return {nb::bytes(found.text.data(), found.text.size()), as_exception(found.error)};
}

}  // namespace

void bind_remote(nb::module_& m) {
  bind_cell(m);
  m.def(
      "remote_cells",
      [](const Experiment& given, const RunSetting& setting) {
        return experiment::remote_cells(given.spec, setting.options());
      },
      "experiment"_a, "setting"_a);
  m.def(
      "run_start", run_start, "experiment"_a, "cell"_a, "planner"_a, "answers"_a, "threads"_a, "beat"_a,
      nb::sig("def run_start(experiment: Experiment, cell: RemoteCell, planner: str, answers: "
              "collections.abc.Mapping[str, str], threads: int, beat: collections.abc.Callable[[], object]) "
              "-> str"));
  m.def(
      "run_remote", run_remote, "experiment"_a, "cell"_a, "answers"_a, "threads"_a, "beat"_a,
      nb::sig("def run_remote(experiment: Experiment, cell: RemoteCell, answers: "
              "collections.abc.Mapping[str, str], threads: int, beat: collections.abc.Callable[[], object]) "
              "-> tuple[bytes, Exception | None]"));
  m.def(
      "take_in",
      [](const RunSetting& setting, const RemoteCell& cell, const nb::bytes& text) {
        return experiment::take_in(setting.options(), cell, std::string(text.c_str(), text.size()));
      },
      "setting"_a, "cell"_a, "text"_a);
}

}  // namespace penstock::python
