// fish: one `complete` per option, each under the condition that its command is being typed.
#include <fmt/format.h>

#include "completions.hpp"

namespace penstock::cli {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// The test of which command is being typed.
std::string head(const std::vector<CommandSyntax>& commands) {
  std::string known;
  for (std::size_t i = 1; i < commands.size(); ++i) known += " " + fish_quoted(commands[i].name());
  return "# fish completion of penstock's command line: penstock completions fish | source\n\n"
         "function __penstock_at\n    set -l typed penstock\n    for word in (commandline -opc)[2..-1]\n"
         "        if contains -- \"$typed $word\"" +
         known +
         "\n            set typed \"$typed $word\"\n        end\n    end\n    test \"$typed\" = "
         "\"$argv\"\nend\n\n"
         "complete -c penstock -f\n";
}

/// Names, paths or both; files are off by default.
std::string fish_offers(const CommandArgument& argument) {
  std::string words = fmt::format("{}", fmt::join(argument.choices, " "));
  if (argument.list()) words = "(__fish_complete_list , 'string split \" \" \"" + words + "\"')";
  if (argument.folders()) words += "(__fish_complete_directories)";
  return (argument.files() ? " -F" : "") + (words.empty() ? "" : " -a " + fish_quoted(words));
}

std::string option_line(const std::string& start, const CommandArgument& option) {
  std::string out = start;
  for (const std::string& spelling : option.spellings)
    out += spelling.starts_with("--") ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
  if (option.takes_value) out += (option.files() ? " -r" : " -x") + fish_offers(option);
  return out + " -d " + fish_quoted(option.brief()) + "\n";
}

std::string command_lines(const std::vector<CommandSyntax>& all, const CommandSyntax& command) {
  const std::string start = "complete -c penstock -n " + fish_quoted("__penstock_at " + command.name());
  std::string out = "\n";
  for (const std::string& word : command.commands)
    out += start + " -a " + word + " -d " + fish_quoted(sub_command(all, command, word).summary) + "\n";
  for (const CommandArgument& positional : command.positionals)
    if (const std::string offered = fish_offers(positional); !offered.empty()) out += start + offered + "\n";
  for (const CommandArgument& option : command.options) out += option_line(start, option);
  return out;
}

}  // namespace

std::string fish_completion(const std::vector<CommandSyntax>& commands) {
  std::string out = head(commands);
  for (const CommandSyntax& command : commands) out += command_lines(commands, command);
  return out;
}

}  // namespace penstock::cli
