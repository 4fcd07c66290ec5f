#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/index.hpp"
#include "penstock/experiment/run.hpp"

namespace penstock::cli {
namespace {

struct IndexFlags {
  std::string folder = "results";
  bool check = false;
};

core::ExitCode index(const IndexFlags& flags) {
  const std::string file = flags.folder + "/README.md", text = experiment::results_index(flags.folder);
  if (!flags.check) {
    if (std::filesystem::exists(file) && !experiment::is_results_index(core::read_file(file)))
      throw core::Error(
          experiment::kOccupied,
          file + " is no index of results: it stays; name a folder of results, or move it away");
    core::write_file(file, text);
    return core::ExitCode::done;
  }
  if (core::read_file(file) != text) throw core::BadInput(file + ": out of date; run penstock index");
  return core::ExitCode::done;
}

}  // namespace

void add_index(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "index", "Write README.md over a folder of results: experiments, and what became of papers' claims.");
  auto flags = std::make_shared<IndexFlags>();
  command->footer(
      "Lists every folder's rows and, where its experiment file has claims, the verdict on each and the "
      "reason "
      "for what is\n"
      "not reproduced. Nothing in it is written by hand.\n\n"
      "Example:\n"
      "  penstock index results");
  command->add_option("RESULTS", flags->folder, "the folder of results folders")
      ->capture_default_str()
      ->type_name("");
  command->add_flag("--check", flags->check, "only say whether it is up to date; exit code 11 if not");
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return index(*flags); }; });
}

}  // namespace penstock::cli
