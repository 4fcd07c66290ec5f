// Runs a fuzz target on its seeds and on many texts made of them, in any build and with any compiler; best
// with sanitizers. The inputs are the same every time.
//
//   fuzz_drive TARGET [--runs N] [--only INPUT]
//
// --runs N      inputs made of the seeds (10000)
// --only INPUT  only this input, in this process, as a debugger needs it

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "fuzz/inputs.hpp"
#include "support/checkout.hpp"

// The build names the targets, and compiles each with a name of its own.
#define TARGET(stem) extern "C" int fuzz_##stem(const std::uint8_t*, std::size_t);
FUZZ_TARGETS
#undef TARGET

namespace {

using penstock::fuzz::FuzzInputs;
using Target = int (*)(const std::uint8_t*, std::size_t);
using Counter = std::atomic<std::size_t>;

constexpr int kSeconds = 10;                // of CPU time for one input
constexpr long kMemory = 2L * 1024 * 1024;  // KiB

const std::map<std::string, Target> kTargets = {
#define TARGET(stem) {#stem, fuzz_##stem},
    FUZZ_TARGETS
#undef TARGET
};

struct FuzzOrder {
  std::string target;
  std::size_t runs = 10'000;
  std::optional<std::size_t> only;
};

std::size_t number_after(const std::string& option, const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument(option + " takes a number, not '" + text + "'");
  return number;
}

FuzzOrder parse(int argc, char** argv) {
  FuzzOrder order;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--runs" && i + 1 < argc)
      order.runs = number_after(word, argv[++i]);
    else if (word == "--only" && i + 1 < argc)
      order.only = number_after(word, argv[++i]);
    else
      order.target = word;
  }
  if (!kTargets.contains(order.target)) throw std::invalid_argument("no target '" + order.target + "'");
  return order;
}

/// The process ends by SIGPROF when the input takes too long.
void run(Target target, const std::string& input) {
  const itimerval limit{{0, 0}, {kSeconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  target(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > kMemory) throw std::runtime_error("an input takes more than 2 GiB");
}

/// Memory that a child shares with this process, which therefore sees how far a child came that crashed.
Counter& shared_counter() {
  void* page = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  return *new (page) Counter(0);
}

/// In a child, since a crash, a sanitizer or the memory's end takes a whole process. Returns how it ended.
int run_all(Target target, const FuzzInputs& inputs, std::size_t end, Counter& at) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    for (; at < end; ++at) run(target, inputs[at]);
    std::exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string described(int status) {
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGPROF) return "more than " + std::to_string(kSeconds) + " s of CPU time";
  return strsignal(WTERMSIG(status));
}

/// Keeps the input, which may become a seed, and prints how to run it again.
void report(const std::string& target, const FuzzInputs& inputs, std::size_t at, std::size_t end,
            int status) {
  const std::string how = described(status);
  if (at == end) {
    std::printf("fuzz %s: after the last input: %s\n", target.c_str(), how.c_str());
    return;
  }
  const std::string file = "fuzz_" + target + "_" + std::to_string(at);
  std::ofstream(file, std::ios::binary) << inputs[at];
  std::printf("fuzz %s: input %zu: %s; it is kept as %s; again: fuzz_drive %s --only %zu\n", target.c_str(),
              at, how.c_str(), file.c_str(), target.c_str(), at);
}

int drive(const FuzzOrder& order) {
  const Target target = kTargets.at(order.target);
  const FuzzInputs inputs(order.target, penstock::support::checkout("/tests/fuzz/seeds/" + order.target));
  if (order.only) {
    run(target, inputs[*order.only]);
    return 0;
  }
  Counter& at = shared_counter();
  const std::size_t end = inputs.seeds() + order.runs;
  const int status = run_all(target, inputs, end, at);
  if (status != 0)
    report(order.target, inputs, at, end, status);
  else
    std::printf("fuzz %s: %zu seeds and %zu inputs made of them\n", order.target.c_str(), inputs.seeds(),
                order.runs);
  return status != 0;
}

}  // namespace

int main(int argc, char** argv) {
  FuzzOrder order;
  try {
    order = parse(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "fuzz_drive: %s\n", error.what());
    return 10;
  }
  return drive(order);
}
