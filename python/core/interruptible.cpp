#include "interruptible.hpp"

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <future>

namespace penstock::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kBeat(50);

using Work = std::function<void(core::StopToken)>;
using Beat = std::function<void()>;

/// Sets `ended`, where there is one, at the first Ctrl-C; throws what else a signal or the beat raises.
void look(const Beat& beat, std::atomic<bool>* ended) {
  if (PyErr_CheckSignals() != 0) {
    if (ended == nullptr || *ended || !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
      throw nb::python_error();
    PyErr_Clear();
    *ended = true;
  }
  if (beat) beat();
}

void run(const Work& work, const Beat& beat, std::atomic<bool>* ended) {
  std::atomic<bool> stop{false};
  const core::StopToken flag(&stop), token = ended == nullptr ? flag : flag.until_ended(*ended);
  std::future<void> done = std::async(std::launch::async, [&] { work(token); });
  const auto over = [&](auto wait) {
    const nb::gil_scoped_release unlocked;
    return wait();
  };
  try {
    while (!over([&] { return done.wait_for(kBeat) == std::future_status::ready; })) look(beat, ended);
    if (beat) beat();  // what happened since the last one
  } catch (...) {
    stop = true;
    over([&] { return done.wait(), true; });
    throw;
  }
  done.get();
}

}  // namespace

void run_interruptible(const Work& work, const Beat& beat) {
  run(work, beat, nullptr);
}

void run_search(const Work& work, const Beat& beat) {
  std::atomic<bool> ended{false};
  run(work, beat, &ended);
}

}  // namespace penstock::python
