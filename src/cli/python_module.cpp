#include "python_module.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "penstock/core/error.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kInterpreter = "PENSTOCK_PYTHON";
constexpr const char* kProgramPath = "PENSTOCK_PROGRAM";

/// Arguments: the module, its user, "import=package" of each need, "--", those of the module. Modules of the current
/// folder are left out: the folder of a config may hold the model's own code.
constexpr const char* kStart = R"(
import sys
from importlib import import_module
from importlib.util import find_spec
sys.path = [path for path in sys.path if path]
module, user, *rest = sys.argv[1:]
needs = [need.split('=', 1) for need in rest[:rest.index('--')]]
def found(name):
    try:
        return find_spec(name) is not None
    except ImportError:
        return False
missing = [package for name, package in needs if not found(name)]
if missing:
    print(f"penstock: {user}: {sys.executable} has no {', no '.join(missing)}: install them with pip, "
          'or name another interpreter by PENSTOCK_PYTHON', file=sys.stderr)
    sys.exit(11)
sys.argv = [module, *rest[rest.index('--') + 1:]]
try:
    sys.exit(import_module(module).main())
except KeyboardInterrupt:
    print('penstock: interrupted', file=sys.stderr)
    sys.exit(30)
)";

std::string interpreter() {
  const char* given = std::getenv(kInterpreter);
  return given == nullptr || *given == '\0' ? "python3" : given;
}

std::vector<std::string> command_of(const PythonModule& module, const std::vector<std::string>& arguments) {
  std::vector<std::string> out = {interpreter(), "-c", kStart, module.name, module.user};
  for (const auto& [name, package] : module.needs) out.push_back(name + "=" + package);
  out.emplace_back("--");
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

/// This process waits for signals with a thread, and keeps them from all others; the next program inherits it.
void let_signals_through() {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
}

/// Python may start this program again.
void name_this_program() {
  std::vector<char> path(4096);
  const auto length = readlink("/proc/self/exe", path.data(), path.size());
  if (length > 0 && static_cast<std::size_t>(length) < path.size())
    setenv(kProgramPath, std::string(path.data(), static_cast<std::size_t>(length)).c_str(), 1);
}

}  // namespace

void become_python(const PythonModule& module, const std::vector<std::string>& arguments) {
  const std::vector<std::string> command = command_of(module, arguments);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  let_signals_through();
  name_this_program();
  execvp(words.front(), words.data());
  std::vector<std::string> packages;
  for (const auto& need : module.needs) packages.push_back(need.second);
  throw core::BadInput(fmt::format(
      "{}: cannot start '{}': {}; install Python with {}, or name an interpreter by {}", module.user,
      command.front(), std::strerror(errno), fmt::join(packages, ", "), kInterpreter));
}

}  // namespace penstock::cli
