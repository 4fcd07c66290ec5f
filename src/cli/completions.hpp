#pragma once
// Completion scripts: the command line in the form that bash, zsh and fish expect. One file per shell.

#include "syntax.hpp"

namespace penstock::cli {

/// Each a whole script, for bash from 4.0, zsh from 5.0 and fish from 3.0 on. The first of `commands` is the
/// program. Known names are offered as they were when the script was written; planners' options and models'
/// parameters are not.
std::string bash_completion(const std::vector<CommandSyntax>& commands);
std::string zsh_completion(const std::vector<CommandSyntax>& commands);
std::string fish_completion(const std::vector<CommandSyntax>& commands);

/// A word in single quotes, for bash and zsh.
std::string shell_quoted(const std::string& text);

}  // namespace penstock::cli
