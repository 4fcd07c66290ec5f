#pragma once
// A manual page of section 1, made from the text of --help.

#include <string>
#include <vector>

#include "syntax.hpp"

namespace penstock::cli {

/// In roff, with the macros of man(7). `all` begins with the program, whose notes are the exit codes;
/// `command` is one of them.
std::string manual_page(const std::vector<CommandSyntax>& all, const CommandSyntax& command);

/// The page's name: the command's words with hyphens between.
std::string page_name(const CommandSyntax& command);

}  // namespace penstock::cli
