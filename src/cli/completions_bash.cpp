// bash: one function that fills COMPREPLY, with a case per command and per option that takes a value.
#include <fmt/format.h>

#include "completions.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kHead =
    R"(# bash completion of penstock's command line: source <(penstock completions bash)

# Each adds what begins like $word: names; the last of a list of names; paths (f files, d folders).
_penstock_add() { mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY; }
_penstock_names() { _penstock_add < <(compgen -W "$1" -- "$word"); }
_penstock_list() {
  local before=
  [[ $word == *,* ]] && before=${word%,*},
  _penstock_add < <(compgen -P "$before" -W "$1" -- "${word##*,}")
}
_penstock_paths() {
  compopt -o filenames 2>/dev/null
  _penstock_add < <(compgen "-$1" -- "$word")
}

_penstock() {
  COMPREPLY=()
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=penstock given
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then  # --option=value comes as three words
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

/// The program, then the words so far that name a command below it.
std::string find_command(const std::vector<CommandSyntax>& commands) {
  std::string known;
  for (std::size_t i = 1; i < commands.size(); ++i)
    known += (known.empty() ? "" : " | ") + shell_quoted(commands[i].name());
  return "  for given in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$command $given\" in\n      " +
         known + ") command=\"$command $given\" ;;\n    esac\n  done\n";
}

std::string names(const std::vector<std::string>& names, const char* how = "names") {
  return names.empty()
             ? ""
             : fmt::format("_penstock_{} {}; ", how, shell_quoted(fmt::format("{}", fmt::join(names, " "))));
}

std::string bash_offers(const CommandArgument& argument) {
  std::string out = names(argument.choices, argument.list() ? "list" : "names");
  if (argument.files()) out += "_penstock_paths f; ";
  if (argument.folders()) out += "_penstock_paths d; ";
  return out;
}

std::string values(const CommandSyntax& command) {
  std::string out;
  for (const CommandArgument& option : command.options)
    if (option.takes_value)
      out +=
          fmt::format("        {}) {}return ;;\n", fmt::join(option.spellings, " | "), bash_offers(option));
  return out.empty() ? "" : "      case $before in\n" + out + "      esac\n";
}

/// Options where the word begins as one; what else there may be otherwise.
std::string command_case(const CommandSyntax& command) {
  std::vector<std::string> options;
  for (const CommandArgument& option : command.options) options.push_back(option.spellings.back());
  std::string others = names(command.commands);
  for (const CommandArgument& positional : command.positionals) others += bash_offers(positional);
  const std::string flags = names(options);
  return fmt::format("    {})\n{}", shell_quoted(command.name()), values(command)) +
         (others.empty() ? fmt::format("      {}\n", flags)
                         : fmt::format("      if [[ $word == -* ]]; then {}else {}fi\n", flags, others)) +
         "      ;;\n";
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash_completion(const std::vector<CommandSyntax>& commands) {
  std::string out = kHead + find_command(commands) + "  case $command in\n";
  for (const CommandSyntax& command : commands) out += command_case(command);
  return out + "  esac\n}\ncomplete -F _penstock penstock\n";
}

}  // namespace penstock::cli
