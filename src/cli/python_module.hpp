#pragma once
// Parts of Penstock that are written in Python: the command becomes one of their modules.

#include <string>
#include <vector>

namespace penstock::cli {

/// A module with a function main(), which returns the exit code.
struct PythonModule {
  std::string name;  ///< "penstock.torch.hf"
  std::string user;  ///< what needs it, for errors: "--through torch"
  /// Modules that it imports, each with the name of its package: {"mcp.server", "mcp"}.
  std::vector<std::pair<std::string, std::string>> needs;
};

/// Replaces this process by Python, so that its exit code and Ctrl-C are Python's. The interpreter is that of the
/// variable PENSTOCK_PYTHON, or python3; PENSTOCK_PROGRAM names this program to the module. Throws core::BadInput if
/// there is no interpreter. What it lacks is an error of the module's process, with the same exit code.
[[noreturn]] void become_python(const PythonModule& module, const std::vector<std::string>& arguments);

}  // namespace penstock::cli
