// penstock manual: the help texts as pages for man.
#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "manual_page.hpp"
#include "penstock/core/files.hpp"

namespace penstock::cli {
namespace {

core::ExitCode write_pages(CLI::App& app, const std::string& folder) {
  const auto commands = command_syntax(app);
  for (const CommandSyntax& command : commands)
    core::write_file(std::filesystem::path(folder) / (page_name(command) + ".1"),
                     manual_page(commands, command));
  print(fmt::format("{}: {} pages\n", folder, commands.size()));
  return core::ExitCode::done;
}

}  // namespace

void add_manual(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("manual", "Write this help as manual pages, one per command.");
  command->footer(
      "Examples:\n"
      "  penstock manual man1\n"
      "  man -l man1/penstock-plan.1");
  auto folder = std::make_shared<std::string>();
  command->add_option("DIR", *folder, "output folder; created if missing")->required()->type_name("DIR");
  command->callback([&app, folder, &action] {
    action = [&app, folder](const CommandContext&) { return write_pages(app, *folder); };
  });
}

}  // namespace penstock::cli
