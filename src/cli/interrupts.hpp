#pragma once
// Ctrl-C, and what else asks the program to end.

#include "penstock/core/stop.hpp"

namespace penstock::cli {

/// To be called before any thread starts. One of its own waits for SIGINT, SIGTERM and SIGHUP (unless that is
/// ignored, as under nohup), and all others block them: no handler may interrupt a thread that computes.
/// Kernels of oneDNN before 3.11.2 point the stack pointer into the heap, and a handler's frame would
/// overwrite what lies below (uxlfoundation/oneDNN, issue 4845).
void await_interrupts();

/// From this call on a first one only asks to stop, and a second one but SIGHUP ends the program; before, the
/// first does.
core::StopToken catch_interrupts();
/// Likewise for searches: the first one is a limit, at which they end with the best plan so far.
core::StopToken end_on_interrupts();

}  // namespace penstock::cli
