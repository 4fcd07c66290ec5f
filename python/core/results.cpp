// Results folders.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "interruptible.hpp"
#include "penstock/core/error.hpp"
#include "penstock/experiment/load_results.hpp"
#include "penstock/report/paper_table.hpp"
#include "penstock/report/pareto.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

/// What `penstock report` writes of the folder.
std::string report_text(const std::string& folder, const std::string& format, const std::string& title,
                        core::StopToken stop) {
  if (format == "html") {
    report::Page page = experiment::load_page(folder, stop);
    page.title = title;
    return report::to_html(page);
  }
  const report::Results results = experiment::load_results(folder);
  if (format == "csv")
    return report::to_csv(results.rows, {.axes = true, .origin = true, .ratio = !results.baseline.empty()});
  if (format == "markdown") return report::to_markdown(results.rows);
  if (format == "latex") return report::to_latex(results.rows);
  throw core::BadInput({"", 0, "format"}, "expected html, csv, markdown or latex of a results folder");
}

std::string folder_report(const std::string& folder, const std::string& format, const std::string& title) {
  return interruptible([&](core::StopToken stop) { return report_text(folder, format, title, stop); });
}

}  // namespace

void bind_results(nb::module_& m) {
  m.def(
      "pareto_front",
      [](const std::vector<std::vector<double>>& points) { return report::pareto_front(points); },
      "points"_a);
  m.def("folder_report", folder_report, "folder"_a, "format"_a, "title"_a);
}

}  // namespace penstock::python
