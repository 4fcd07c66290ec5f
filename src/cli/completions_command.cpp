// penstock completions: what a shell needs to complete this command line.
#include <fmt/format.h>

#include "command.hpp"
#include "completions.hpp"

namespace penstock::cli {
namespace {

std::string script(const std::string& shell, const std::vector<CommandSyntax>& commands) {
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  return fish_completion(commands);
}

}  // namespace

void add_completions(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("completions", "Print a shell script that completes commands, options and names.");
  command->footer(
      "Examples:\n"
      "  source <(penstock completions bash)\n"
      "  penstock completions zsh >~/.zfunc/_penstock   # a folder of $fpath\n"
      "  penstock completions fish >~/.config/fish/completions/penstock.fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("NAME")
      ->check(one_of({"bash", "zsh", "fish"}));
  command->callback([&app, shell, &action] {
    action = [&app, shell](const CommandContext&) {
      print(script(*shell, command_syntax(app)));
      return core::ExitCode::done;
    };
  });
}

}  // namespace penstock::cli
