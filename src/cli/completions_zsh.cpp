// zsh: one function of _arguments per command.
#include <fmt/format.h>

#include <algorithm>

#include "completions.hpp"

namespace penstock::cli {
namespace {

/// Text between brackets or colons of a specification.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string function(const CommandSyntax& command) {
  std::string out = "_" + command.name("_");
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

/// Completions of a value: names, paths, both, or nothing (a blank).
std::string action(const CommandArgument& argument) {
  const std::string names = fmt::format("{}", fmt::join(argument.choices, " "));
  const char* paths = argument.files() ? "_files" : argument.folders() ? "_files -/" : "";
  if (names.empty()) return *paths ? paths : " ";
  if (argument.list()) return fmt::format("{{compset -P \"*,\"; compadd -- {}}}", names);
  return *paths ? fmt::format("{{compadd -- {}; {}}}", names, paths) : "(" + names + ")";
}

/// `'(-j --threads)'{-j,--threads}'[help]:N: '`; a star instead of the group where it may be repeated.
std::string specification(const CommandArgument& option) {
  const auto& spellings = option.spellings;
  std::string out = option.repeats ? "'*'" : fmt::format("'({})'", fmt::join(spellings, " "));
  out += spellings.size() == 1 ? spellings[0] : fmt::format("{{{}}}", fmt::join(spellings, ","));
  std::string rest = "[" + escaped(option.brief()) + "]";
  if (option.takes_value) rest += ":" + escaped(option.value) + ":" + action(option);
  return out + shell_quoted(rest);
}

std::string arguments(const CommandSyntax& command) {
  std::string out = command.commands.empty() ? "  _arguments" : "  _arguments -C";
  for (const CommandArgument& option : command.options) out += " \\\n    " + specification(option);
  for (const CommandArgument& positional : command.positionals)
    out += " \\\n    " + shell_quoted(":" + escaped(positional.brief()) + ":" + action(positional));
  if (!command.commands.empty()) out += " \\\n    '1: :->command' '*:: :->rest'";
  return out + "\n";
}

/// The word that names a sub-command, or that command's own words.
std::string dispatch(const std::vector<CommandSyntax>& all, const CommandSyntax& command) {
  std::string names, cases;
  for (const std::string& word : command.commands) {
    const CommandSyntax& below = sub_command(all, command, word);
    names += "      " + shell_quoted(word + ":" + escaped(below.summary)) + "\n";
    cases += fmt::format("      {}) {} ;;\n", word, function(below));
  }
  return "  local -a commands=(\n" + names + "  )\n  case $state in\n" +
         "    command) _describe command commands ;;\n    rest) case $line[1] in\n" + cases +
         "    esac ;;\n  esac\n";
}

}  // namespace

std::string zsh_completion(const std::vector<CommandSyntax>& commands) {
  std::string out =
      "#compdef penstock\n# zsh completion of penstock's command line: a file _penstock in a folder of "
      "$fpath, or\n"
      "# source <(penstock completions zsh)\n";
  for (const CommandSyntax& command : commands) {
    out += "\n" + function(command) + "() {\n";
    const bool above = !command.commands.empty();
    if (above) out += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
    out += arguments(command) + (above ? dispatch(commands, command) : "") + "}\n";
  }
  return out +
         "\nif [[ $funcstack[1] == _penstock ]]; then _penstock \"$@\"; else compdef _penstock penstock; "
         "fi\n";
}

}  // namespace penstock::cli
