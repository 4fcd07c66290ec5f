#include "torch_reader.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "penstock/core/error.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kInterpreter = "PENSTOCK_PYTHON";

/// Modules of the current folder are left out: the folder of a config may hold the model's own code.
constexpr const char* kProgram = R"(
import sys
from importlib.util import find_spec
sys.path = [path for path in sys.path if path]
homes = {'penstock.torch': 'penstock (pip install ./python of its repository)', 'torch': 'torch', 'transformers': 'transformers'}
def found(name):
    try:
        return find_spec(name) is not None
    except ImportError:
        return False
missing = [home for name, home in homes.items() if not found(name)]
if missing:
    print(f"penstock: --through torch: {sys.executable} has no {', no '.join(missing)}: install them with pip, "
          'or name another interpreter by PENSTOCK_PYTHON', file=sys.stderr)
    sys.exit(11)
try:
    from penstock.torch.hf import main
    sys.exit(main())
except KeyboardInterrupt:
    print('penstock: interrupted', file=sys.stderr)
    sys.exit(30)
)";

std::string interpreter() {
  const char* given = std::getenv(kInterpreter);
  return given == nullptr || *given == '\0' ? "python3" : given;
}

std::vector<std::string> command_of(const TorchReading& reading) {
  std::vector<std::string> out = {interpreter(), "-c", kProgram};
  if (reading.tokens > 0) out.insert(out.end(), {"--tokens", std::to_string(reading.tokens)});
  if (!reading.output.empty()) out.insert(out.end(), {"--output=" + reading.output});
  out.insert(out.end(), {"--", reading.file});
  return out;
}

/// This process waits for signals with a thread, and keeps them from all others; the next program inherits it.
void let_signals_through() {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
}

}  // namespace

void read_through_torch(const TorchReading& reading) {
  const std::vector<std::string> command = command_of(reading);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  let_signals_through();
  execvp(arguments.front(), arguments.data());
  throw core::BadInput(
      fmt::format("--through torch: cannot start '{}': {}; install Python with torch, "
                  "transformers and penstock, or name an interpreter by {}",
                  command.front(), std::strerror(errno), kInterpreter));
}

}  // namespace penstock::cli
