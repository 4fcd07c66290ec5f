#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "penstock/core/files.hpp"
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

void choose_baseline(const ReportFlags& flags, report::Results& results) {
  if (!flags.baseline.empty()) from_command_line([&] { experiment::set_baseline(results, flags.baseline); });
}

std::string page(const ReportFlags& flags, const Session& session) {
  const ThreadLimit limit(flags.threads);
  report::Page out = experiment::load_page(flags.folder, session.stop());
  choose_baseline(flags, out.results);
  out.title = "Penstock: " + name_of(flags.folder);
  return report::to_html(out);
}

/// All columns of results.csv and timings.csv, and ratios where there is a baseline.
report::Columns everything(const report::Results& results) {
  return {.axes = true, .origin = true, .ratio = !results.baseline.empty()};
}

/// The rows in a format other than HTML.
std::string table(const ReportFlags& flags) {
  report::Results results = experiment::load_results(flags.folder);
  choose_baseline(flags, results);
  const auto& rows = results.rows;
  std::vector<std::string> names;
  if (!flags.columns.empty())
    names = from_command_line([&] { return report::parse_columns(flags.columns, rows); });
  if (flags.format == "markdown") return report::to_markdown(rows, names);
  if (flags.format == "latex") return report::to_latex(rows, names);
  if (flags.format == "csv")
    return names.empty() ? report::to_csv(rows, everything(results))
                         : report::to_csv(report::chosen_rows(rows, names));
  if (flags.format == "json")
    return names.empty() ? report::to_json(rows, results.provenance, everything(results))
                         : report::chosen_json(rows, names, results.provenance);
  const report::Screen screen = flags.output.empty() ? cli::screen() : report::Screen{};
  return names.empty() ? report::comparison(rows, results.baseline, true, screen)
                       : report::chosen_table(rows, names, screen);
}

/// --chart goes without the flags of pages and tables, and --quantity only with it.
void check_chart(const ReportFlags& flags) {
  const auto refuse = [](const std::string& why) { throw core::Error(core::ExitCode::usage, why); };
  if (flags.chart.empty() && !flags.quantity.empty()) refuse("--quantity says what --chart draws: give both");
  if (flags.chart.empty()) return;
  if (flags.format != "html" || !flags.output.empty() || !flags.columns.empty())
    refuse("--chart writes one picture: --format, --output and --columns are for pages and tables");
  check_picture(flags.chart);
}

core::ExitCode write_chart(const ReportFlags& flags) {
  const report::Results results = experiment::load_results(flags.folder);
  const auto quantity = report::quantity(flags.quantity.empty() ? "throughput" : flags.quantity);
  write_picture(flags.chart, report::results_chart_svg(results.rows, quantity, name_of(flags.folder)));
  print(flags.chart + "\n");
  return core::ExitCode::done;
}

core::ExitCode run(const ReportFlags& flags, const Session& session) {
  check_chart(flags);
  if (!flags.chart.empty()) return write_chart(flags);
  if (flags.format == "html") {
    if (!flags.columns.empty())
      throw core::Error(core::ExitCode::usage,
                        "--columns is for tables: add --format text, csv, json, markdown or latex; the page "
                        "has a choice of its own");
    const std::string path = flags.output.empty() ? flags.folder + "/report.html" : flags.output;
    if (!session.force && flags.output.empty() && std::filesystem::is_regular_file(path) &&
        !report::is_page(core::read_file(path)))
      throw core::Error(
          experiment::kOccupied,
          path +
              " is there and is no page of Penstock's: it stays; name another file (-o), move it "
              "away, or use --force");
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
    "The page needs no network and no other file: what came out and who was fastest, charts of throughput, "
    "memory and\n"
    "search, the table, claims of papers, and for each plan its stages with their operators, timeline, "
    "memory, critical\n"
    "path and shares of time. A study of schedules has a page too. Plans are simulated anew for it, as the "
    "folder's\n"
    "cells/ say, the fastest of each problem first, until the page is full (10 MiB); a plan that cannot be "
    "is told in\n"
    "the page, and keeps its row. The tables join results.json with timings.csv. A file validation.csv in "
    "the folder\n"
    "(plan,measured_s,measured_low_s,measured_high_s,simulated_s,error) is drawn as measured against "
    "simulated.\n\n"
    "A ratio is a row's throughput over that of the baseline on the same problem. The experiment names the "
    "baseline, or\n"
    "--baseline does; the page and every format then have ratios.\n\n"
    "Examples:\n"
    "  penstock report results/quickstart\n"
    "  penstock report results/quickstart --baseline spp --format latex -o table.tex\n"
    "  penstock report results/quickstart --format csv --columns model,devices,planner,samples_per_s\n"
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
          "what `penstock run` or `penstock validate` wrote; tables are of plans, not of schedules alone")
      ->required()
      ->type_name("DIR");
  command->add_option("--format", flags->format, "html, text, markdown, csv, json or latex (booktabs)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"html", "text", "markdown", "csv", "json", "latex"}));
  command
      ->add_option("--columns", flags->columns,
                   "columns of a table, in this order: names of results.csv and timings.csv, ratio, and the "
                   "experiment's axes; default: all in CSV and JSON, at most nine in Markdown and LaTeX")
      ->type_name("NAME,...");
  command->add_option("--baseline", flags->baseline, "planner that ratios divide by")->type_name("NAME");
  command
      ->add_option("--chart", flags->chart,
                   "write a picture instead: SVG, PDF or PNG by the file's ending; PDF and PNG need "
                   "rsvg-convert or cairosvg")
      ->type_name("FILE");
  std::vector<std::string> quantities(report::quantity_names().begin(), report::quantity_names().end());
  command
      ->add_option("--quantity", flags->quantity,
                   "what --chart draws: throughput (default), memory or search_time")
      ->type_name("NAME")
      ->check(one_of(std::move(quantities)));
  command
      ->add_option("-o,--output", flags->output,
                   "file to write; default: FOLDER/report.html, or standard output for a table")
      ->type_name("FILE");
  add_threads(*command, flags->threads);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
