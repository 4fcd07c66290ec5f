#pragma once
// Syntax of the command line, read off the CLI11 app: completions and manual pages are written from it.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace penstock::cli {

/// An option, a flag or a positional.
struct CommandArgument {
  std::vector<std::string> spellings;  ///< "-j" and "--threads", short ones first; of a positional its name
  std::string description;             ///< one line
  std::string value;                   ///< what --help calls it, such as NAME|FILE; empty for flags
  bool takes_value = false;            ///< one must follow; not so for flags and for `--explain [N]`
  bool repeats = false, required = false;
  std::string standard;              ///< the default that --help shows; empty: none
  std::vector<std::string> needs;    ///< options it is refused without
  std::vector<std::string> choices;  ///< names it takes or, beside files, accepts
  bool list() const;                 ///< several choices with commas between
  bool files() const;
  bool folders() const;
  std::string brief() const;  ///< the description's first part
};

struct CommandSyntax {
  std::vector<std::string> words;  ///< such as penstock, calibrate, report
  std::string summary;
  std::string notes;  ///< text of --help below the options, unless it is the parent's
  std::vector<CommandArgument> options, positionals;
  std::vector<std::string> commands;  ///< sub-commands
  bool needs_command = false;         ///< one of them must be named
  std::string name(const char* between = " ") const;
};

/// Syntax of the app and all commands below it: every command comes before its sub-commands.
std::vector<CommandSyntax> command_syntax(CLI::App& app);

/// Syntax of the sub-command of this name; it is there.
const CommandSyntax& sub_command(const std::vector<CommandSyntax>& all, const CommandSyntax& parent,
                                 const std::string& name);

}  // namespace penstock::cli
