// Results folders.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "interruptible.hpp"
#include "penstock/core/error.hpp"
#include "penstock/experiment/load_results.hpp"
#include "penstock/report/column_choice.hpp"
#include "penstock/report/pareto.hpp"
#include "penstock/report/results_chart.hpp"
#include "tables.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using Names = std::vector<std::string>;
using Rows = std::vector<report::CellResult>;

/// Text that `penstock report` writes of the folder.
std::string report_text(const std::string& folder, const TableChoice& choice, const std::string& title,
                        core::StopToken stop) {
  if (choice.format != "html") return table_text(experiment::load_results(folder), choice);
  report::Page page = experiment::load_page(folder, stop);
  choose_baseline(page.results, choice);
  page.title = title;
  return report::to_html(page);
}

std::string folder_report(const std::string& folder, const std::string& format, const Names& columns,
                          const std::optional<std::string>& baseline, const std::string& title) {
  const TableChoice choice{format, columns, baseline};
  return interruptible([&](core::StopToken stop) { return report_text(folder, choice, title, stop); });
}

std::string rows_chart(const Rows& rows, const std::string& quantity, const std::string& title) {
  try {
    return report::results_chart_svg(rows, report::quantity(quantity), title);
  } catch (const core::BadInput& e) {
    throw core::BadInput({"", 0, "quantity"}, e.what());
  }
}

}  // namespace

void bind_results(nb::module_& m) {
  m.def(
      "pareto_front",
      [](const std::vector<std::vector<double>>& points) { return report::pareto_front(points); },
      "points"_a);
  m.def("folder_report", folder_report, "folder"_a, "format"_a, "columns"_a, "baseline"_a.none(), "title"_a);
  m.def("rows_chart", rows_chart, "rows"_a, "quantity"_a, "title"_a, "An SVG (penstock.chart).");
  m.def(
      "folder_chart",
      [](const std::string& folder, const std::string& quantity, const std::string& title) {
        return rows_chart(experiment::load_results(folder).rows, quantity, title);
      },
      "folder"_a, "quantity"_a, "title"_a);
  m.def(
      "rows_table",
      [](const Rows& rows, const Names& columns) { return report::chosen_table(rows, columns); }, "rows"_a,
      "columns"_a, "Chosen columns as text.");
}

}  // namespace penstock::python
