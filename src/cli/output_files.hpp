#pragma once
// Output files of commands: never their inputs, each other, or somebody else's.

#include <CLI/CLI.hpp>

namespace penstock::cli {

/// --force on every command below that has an option for a file to write.
void add_force(CLI::App& app);

/// True if --force is given to the command that was chosen.
bool forced(const CLI::App& command);

/// To be called before the command runs. Throws core::Error: usage where two of its output files are one;
/// with experiment::kOccupied, unless --force, where one is also an input, or holds what the option never
/// writes.
void check_output_files(const CLI::App& command);

}  // namespace penstock::cli
