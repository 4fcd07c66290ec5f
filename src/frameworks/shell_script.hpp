#pragma once
// Commands that a bash script launches, and their words, as far as only the script decides.

#include <string>
#include <string_view>
#include <vector>

#include "shell_values.hpp"

namespace penstock::frameworks::shell {

/// Words of a command if a branch that nothing decides is taken the other way.
struct OtherFields {
  std::vector<Field> fields;
  std::string variable;  ///< that the branches set
  int line = 0;          ///< where this branch sets it
  int against = 0;       ///< where the other branch, whose words count, sets it; 0: nowhere
};

struct Launch {
  int line = 0;
  std::vector<Field> fields{};
  std::vector<OtherFields> others{};
  std::string array_fault{};  ///< an array used as its first word only
};

struct ScriptRun {
  std::vector<Launch> launches;  ///< commands with a word that has two dashes, in order
  /// Variables that have such a word at the end, where there is no launch: a list of arguments.
  std::vector<Launch> lists;
};

/// Runs the script's own commands: assignments, arrays, `if`, `case`, tests, `for`, functions, sums. `arguments`
/// are those that the script is started with, as a shell would have them: "2 2 8192". Where a condition depends on what only a shell or the environment
/// has, both branches count. Throws BadInput naming file and line for a script that is no bash.
ScriptRun run_script(std::string_view text, const std::string& file, std::string_view arguments = "");

}  // namespace penstock::frameworks::shell
