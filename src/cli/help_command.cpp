// penstock help, and the output of penstock without a command.
#include <fmt/format.h>

#include "command.hpp"
#include "overview.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::cli {
namespace {

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// The command that `words` name, and how it is called in full.
std::pair<const CLI::App*, std::string> command_of(const CLI::App& app,
                                                   const std::vector<std::string>& words) {
  const CLI::App* found = &app;
  std::string name = app.get_name();
  for (const std::string& word : words) {
    const auto named =
        found->get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
    if (named.empty()) throw core::Error(core::ExitCode::usage, no_command(*found, word));
    found = named.front();
    name += " " + word;
  }
  return {found, name};
}

}  // namespace

std::string no_command(const CLI::App& app, const std::string& word) {
  const auto names = names_below(app);
  if (names.empty()) return fmt::format("penstock {} has no sub-commands", app.get_name());
  return fmt::format("'{}' is not a command; {}", word, core::did_you_mean(word, names));
}

std::string overview() {
  return R"(Penstock plans, simulates and compares pipeline-parallel training of deep
networks. No GPU is needed. Three things to do next:

  1. Find a plan for a network on a cluster, and write it to plan.yaml:
     penstock plan --model llama3-8b --gpus 8xH100x4 -o plan.yaml

  2. Explain that plan in ten sentences:
     penstock explain plan.yaml

  3. Compare all planners on one problem:
     penstock compare --model mmt --cluster summit --devices 8 --mini-batch 128

Names to choose from: penstock models, clusters, planners, schedules
All commands:         penstock help; of one command: penstock help plan
)";
}

void add_help(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("help", "Print the help of a command, as COMMAND --help does.");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "such as plan, or calibrate verify; default: penstock itself")
      ->type_name("NAME")
      ->check(suggest(names_below(app)));
  command->callback([&app, words, &action] {
    action = [&app, words](const CommandContext&) {
      const auto [found, name] = command_of(app, *words);
      print(app.get_formatter()->make_help(found, name, CLI::AppFormatMode::Normal));
      return core::ExitCode::done;
    };
  });
}

}  // namespace penstock::cli
