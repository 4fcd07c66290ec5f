#pragma once
// Ctrl-C, and other requests to end the program.

#include "penstock/core/stop.hpp"

namespace penstock::cli {

/// Must be called before any thread starts. Starts a thread that waits for SIGINT, SIGTERM and SIGHUP (unless
/// SIGHUP is ignored, as under nohup); all others block them. No handler may interrupt a thread that
/// computes. Kernels of oneDNN before 3.11.2 point the stack pointer into the heap, and a handler's frame
/// would overwrite what lies below (uxlfoundation/oneDNN, issue 4845).
void await_interrupts();

/// From this call on a first one only requests a stop, and a second one, except SIGHUP, ends the program;
/// before, the first does.
core::StopToken catch_interrupts();
/// For searches: the first interrupt is a limit, at which they end with the best plan so far.
core::StopToken end_on_interrupts();

}  // namespace penstock::cli
