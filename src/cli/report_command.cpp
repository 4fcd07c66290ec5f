#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/load_results.hpp"
#include "penstock/report/page.hpp"
#include "penstock/report/paper_table.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::string folder;
  std::string format = "html";
  std::string output;
  int threads = 0;
};

/// The last part of the folder's path, which `penstock run` takes from the experiment.
std::string name_of(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string page(const ReportFlags& flags, const Session& session) {
  const ThreadLimit limit(flags.threads);
  report::Page out = experiment::load_page(flags.folder, session.stop());
  out.title = "Penstock: " + name_of(flags.folder);
  return report::to_html(out);
}

constexpr report::Columns kEverything{.axes = true, .origin = true};

core::ExitCode run(const ReportFlags& flags, const Session& session) {
  if (flags.format == "html") {
    const std::string path = flags.output.empty() ? flags.folder + "/report.html" : flags.output;
    core::write_file(path, page(flags, session));
    print(path + "\n");
    return core::ExitCode::done;
  }
  const report::Results results = experiment::load_results(flags.folder);
  const std::string text = flags.format == "csv"        ? report::to_csv(results.rows, kEverything)
                           : flags.format == "markdown" ? report::to_markdown(results.rows)
                                                        : report::to_latex(results.rows);
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
    "Examples:\n"
    "  penstock report results/quickstart\n"
    "  penstock report results/quickstart --format latex -o table.tex";

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
  command->add_option("--format", flags->format, "html, markdown, csv or latex (booktabs)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"html", "markdown", "csv", "latex"}));
  command
      ->add_option("-o,--output", flags->output,
                   "file to write; default: FOLDER/report.html, or standard output for a table")
      ->type_name("FILE");
  add_threads(*command, flags->threads);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
