#pragma once
// Overview of the program for new users.

#include <CLI/CLI.hpp>
#include <string>

namespace penstock::cli {

/// The first commands to try, on a page of 80 columns.
std::string overview();

/// "'simulat' is no command; did you mean 'simulate'?", of those below `app`.
std::string no_command(const CLI::App& app, const std::string& word);

}  // namespace penstock::cli
