#include "interrupts.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace penstock::cli {
namespace {

// The only globals: signals are sent to the process.
std::atomic<bool> caught{false}, stop_requested{false};

/// nohup has it so.
bool ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void await(const sigset_t& interrupts) {
  int signal = 0;
  sigwait(&interrupts, &signal);
  const bool ends = !caught;
  stop_requested = true;
  std::signal(SIGINT, SIG_DFL);  // a shell's background jobs are started with it ignored
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, ends ? SIG_DFL : SIG_IGN);  // a terminal that goes away signals this more than once
  pthread_sigmask(SIG_UNBLOCK, &interrupts, nullptr);
  if (ends) std::raise(signal);
  for (;;) pause();  // the next one ends the program
}

}  // namespace

void await_interrupts() {
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  if (!ignored(SIGHUP)) sigaddset(&interrupts, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);
  std::thread(await, interrupts).detach();
}

core::StopToken catch_interrupts() {
  caught = true;
  return core::StopToken(&stop_requested);
}

core::StopToken end_on_interrupts() {
  caught = true;
  return core::StopToken().until_ended(stop_requested);
}

}  // namespace penstock::cli
