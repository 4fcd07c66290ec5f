// penstock mcp: a server for assistants.
#include "command.hpp"
#include "python_module.hpp"

namespace penstock::cli {

void add_mcp(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "mcp",
      "Serve plan, compare, simulate, explain, import and export to assistants (Model Context Protocol).");
  command->footer(
      "Serves on standard input and output until the client closes them. Relative names of files are those in "
      "FOLDER, and nothing is written outside it. python3, or the interpreter in PENSTOCK_PYTHON, needs the "
      "packages penstock and mcp (in Penstock's folder: pip install './python[mcp]').\n"
      "\n"
      "Example, for a client that takes the command of a server:\n"
      "  penstock mcp plans");
  auto folder = std::make_shared<std::string>(".");
  command->add_option("FOLDER", *folder, "folder of plans and models")
      ->capture_default_str()
      ->type_name("FOLDER");
  command->callback([folder, &action] {
    action = [folder](const CommandContext&) -> core::ExitCode {
      become_python({"penstock.mcp_server",
                     "mcp",
                     {{"penstock.mcp_server", "penstock (pip install ./python of its repository)"},
                      {"mcp.server", "mcp"}}},
                    {*folder});
    };
  });
}

}  // namespace penstock::cli
