#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/load_results.hpp"
#include "penstock/experiment/run.hpp"
#include "penstock/report/column_choice.hpp"
#include "penstock/report/comparison.hpp"
#include "penstock/report/page.hpp"
#include "penstock/report/paper_table.hpp"
#include "penstock/report/results_chart.hpp"
#include "picture_file.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::string folder;
  std::string format = "html";
  std::string output;
  std::string columns;
  std::string baseline;
  std::string chart;
  std::string quantity;
  int threads = 0;
};

/// The last part of the folder's path, which `penstock run` takes from the experiment.
std::string name_of(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

void choose_baseline(const ReportFlags& flags, report::ResultSet& results) {
  if (!flags.baseline.empty()) from_command_line([&] { experiment::set_baseline(results, flags.baseline); });
}

std::string page(const ReportFlags& flags, const CommandContext& session) {
  const ThreadLimit limit(flags.threads);
  report::Page out = experiment::load_page(flags.folder, session.stop());
  choose_baseline(flags, out.results);
  out.title = "Penstock: " + name_of(flags.folder);
  for (const std::string& warning : out.warnings) warn(warning);
  return report::to_html(out);
}

/// All columns of results.csv and timings.csv, and ratios where there is a baseline.
report::ColumnGroups everything(const report::ResultSet& results) {
  return {.axes = true, .origin = true, .ratio = !results.baseline.empty()};
}

/// The rows in a format other than HTML.
std::string table(const ReportFlags& flags) {
  report::ResultSet results = experiment::load_results(flags.folder);
  choose_baseline(flags, results);
  const auto& rows = results.rows;
  for (const std::string& doubt : experiment::doubts(rows)) warn(doubt);
  const bool all = flags.columns == "all";
  std::vector<std::string> names;
  if (all && (flags.format == "markdown" || flags.format == "latex")) names = report::column_names(rows);
  if (!all && !flags.columns.empty())
    names = from_command_line([&] { return report::parse_columns(flags.columns, rows); });
  if (flags.format == "markdown") return report::to_markdown(rows, names);
  if (flags.format == "latex") return report::to_latex(rows, names);
  if (flags.format == "csv")
    return names.empty() ? report::to_csv(rows, everything(results))
                         : report::to_csv(report::chosen_rows(rows, names));
  if (flags.format == "json")
    return names.empty() ? report::to_json(rows, results.provenance, everything(results))
                         : report::chosen_json(rows, names, results.provenance);
  report::ScreenLimits screen = flags.output.empty() && !all ? cli::screen() : report::ScreenLimits{};
  if (!names.empty()) screen.columns = 0;  // the reader has chosen
  return names.empty() ? report::comparison(rows, results.baseline, true, screen)
                       : report::chosen_table(rows, names, screen);
}

/// --chart goes without the flags of pages and tables, and --quantity only with it.
void check_chart(const ReportFlags& flags) {
  const auto refuse = [](const std::string& why) { throw core::Error(core::ExitCode::usage, why); };
  if (flags.chart.empty() && !flags.quantity.empty()) refuse("--quantity needs --chart");
  if (flags.chart.empty()) return;
  if (flags.format != "html" || !flags.output.empty() || !flags.columns.empty())
    refuse("--chart writes one picture; it cannot be used with --format, --output or --columns");
  check_picture(flags.chart);
}

core::ExitCode write_chart(const ReportFlags& flags) {
  const report::ResultSet results = experiment::load_results(flags.folder);
  const auto quantity = report::quantity(flags.quantity.empty() ? "throughput" : flags.quantity);
  write_picture(flags.chart, report::results_chart_svg(results.rows, quantity, name_of(flags.folder)));
  print(flags.chart + "\n");
  return core::ExitCode::done;
}

core::ExitCode run(const ReportFlags& flags, const CommandContext& session) {
  check_chart(flags);
  if (!flags.chart.empty()) return write_chart(flags);
  if (flags.format == "html") {
    if (!flags.columns.empty())
      throw core::Error(
          core::ExitCode::usage,
          "--columns needs a table: add --format text, csv, json, markdown or latex; readers of the page "
          "choose columns there");
    const std::string path = flags.output.empty() ? flags.folder + "/report.html" : flags.output;
    if (!session.force && flags.output.empty() && std::filesystem::is_regular_file(path) &&
        !report::is_page(core::read_file(path)))
      throw core::Error(
          experiment::kOccupied,
          path +
              " exists and is not a page of Penstock; name another file (-o), move it away, or use --force");
    core::write_file(path, page(flags, session));
    print(path + "\n");
    return core::ExitCode::done;
  }
  const std::string text = table(flags);
  if (flags.output.empty())
    print(text);
  else
    core::write_file(flags.output, text);
  return core::ExitCode::done;
}

constexpr const char* kReportFooter =
    "The page is one file and needs no network. It shows the results and the fastest planner, charts "
    "of throughput, memory and search, the table, claims of papers, and for each plan its stages, "
    "timeline, memory, critical path and shares of time. Plans are simulated again from the folder's "
    "cells/, the fastest of each problem first, until the page has 10 MiB; if a plan cannot be "
    "simulated, the page says so and keeps its row. Studies of schedules have a page too. The tables "
    "join results.json and timings.csv. A file validation.csv in the folder "
    "(plan,measured_s,measured_low_s,measured_high_s,simulated_s,error) is drawn as measured against "
    "simulated.\n"
    "The ratio of a row is its throughput divided by that of the baseline on the same problem. The "
    "experiment file or --baseline names the baseline; without one there are no ratios.\n"
    "\n"
    "Examples:\n"
    "  penstock report results/quickstart\n"
    "  penstock report results/quickstart --baseline spp --format latex -o table.tex\n"
    "  penstock report results/quickstart --format csv --columns "
    "model,devices,planner,samples_per_s\n"
    "  penstock report results/quickstart --chart throughput.svg";

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("report", "Turn a results folder into one HTML page, or into a table for a paper.");
  command->footer(kReportFooter);
  auto flags = std::make_shared<ReportFlags>();
  command
      ->add_option(
          "FOLDER", flags->folder,
          "results folder of `penstock run` or `penstock validate`; tables need plans, not only schedules")
      ->required()
      ->type_name("DIR");
  command->add_option("--format", flags->format, "html, text, markdown, csv, json or latex (booktabs)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"html", "text", "markdown", "csv", "json", "latex"}));
  command
      ->add_option("--columns", flags->columns,
                   "columns of a table, in this order: names of results.csv and timings.csv, ratio, and the "
                   "experiment's axes; or all. Default: all in CSV, JSON and files of text, at most seven in "
                   "printed text, at most nine in Markdown and LaTeX")
      ->type_name("NAME,...");
  command->add_option("--baseline", flags->baseline, "planner that ratios divide by")->type_name("NAME");
  command
      ->add_option(
          "--chart", flags->chart,
          "write a picture instead of a page: SVG, PDF or PNG by the file's ending; PDF and PNG need "
          "rsvg-convert or cairosvg")
      ->type_name("FILE");
  std::vector<std::string> quantities(report::quantity_names().begin(), report::quantity_names().end());
  command
      ->add_option("--quantity", flags->quantity,
                   "quantity of --chart: throughput (default), memory or search_time")
      ->type_name("NAME")
      ->check(one_of(std::move(quantities)));
  command
      ->add_option("-o,--output", flags->output,
                   "file to write; default: FOLDER/report.html, or standard output for a table")
      ->type_name("FILE");
  add_threads(*command, flags->threads);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
