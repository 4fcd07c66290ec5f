#include "interruptible.hpp"

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <future>

namespace penstock::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kBeat(50);

void look(const std::function<void()>& beat) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (beat) beat();
}

}  // namespace

void run_interruptible(const std::function<void(core::StopToken)>& work, const std::function<void()>& beat) {
  std::atomic<bool> stop{false};
  std::future<void> done = std::async(std::launch::async, [&] { work(core::StopToken(&stop)); });
  const auto over = [&](auto wait) {
    const nb::gil_scoped_release unlocked;
    return wait();
  };
  try {
    while (!over([&] { return done.wait_for(kBeat) == std::future_status::ready; })) look(beat);
    if (beat) beat();  // what happened since the last one
  } catch (...) {
    stop = true;
    over([&] { return done.wait(), true; });
    throw;
  }
  done.get();
}

}  // namespace penstock::python
