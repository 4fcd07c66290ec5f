#pragma once
// Long work of C++ under Python: the interpreter runs on, and Ctrl-C ends it.

#include <functional>
#include <optional>

#include "penstock/core/stop.hpp"

namespace penstock::python {

/// Runs `work` on a thread of its own, without the interpreter's lock, and waits. Every twentieth of a second
/// the calling thread takes the lock, looks for signals and calls `beat`, which may call Python. When either
/// raises, the work gets a stop request, and the exception is raised once it has stopped. Throws what the
/// work throws.
void run_interruptible(const std::function<void(core::StopToken)>& work,
                       const std::function<void()>& beat = {});

/// For a search: a first Ctrl-C is a limit of the token (core::StopToken::ended), at which the work returns
/// the best so far; a second one is raised.
void run_search(const std::function<void(core::StopToken)>& work, const std::function<void()>& beat = {});

/// The value of such work.
template <class Work>
auto interruptible(const Work& work, const std::function<void()>& beat = {}) {
  std::optional<decltype(work(core::StopToken()))> out;
  run_interruptible([&](core::StopToken stop) { out.emplace(work(stop)); }, beat);
  return std::move(*out);
}
template <class Work>
auto searched_until_interrupt(const Work& work, const std::function<void()>& beat = {}) {
  std::optional<decltype(work(core::StopToken()))> out;
  run_search([&](core::StopToken stop) { out.emplace(work(stop)); }, beat);
  return std::move(*out);
}

}  // namespace penstock::python
