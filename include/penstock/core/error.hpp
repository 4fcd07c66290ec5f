#pragma once
// Errors and their exit codes: a script learns from the code which kind of error occurred.

#include <stdexcept>
#include <string>

namespace penstock::core {

/// Exit codes come in blocks: 0 done, 10s bad input, 20s no feasible plan, 30s limits, 40s our bug.
enum class ExitCode : int {
  done = 0,
  usage = 10,         ///< unknown sub-command, flag or value on the command line
  bad_input = 11,     ///< a file is malformed or contradicts itself
  infeasible = 20,    ///< no plan fits the devices
  invalid_plan = 21,  ///< the plan given breaks a validity rule
  drifted = 22,       ///< the device no longer matches its calibration
  device_failed =
      23,  ///< a replay ended early: a kernel failed, memory ran out, a process died, a wait took too long
  interrupted = 30,  ///< Ctrl-C; finished results, and the best plan so far, are kept
  limit = 31,        ///< larger than Penstock handles, or than a limit allows
  internal = 40,     ///< a defect of Penstock
};

/// Base of every error Penstock raises on purpose.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Place of an error in the input; empty parts are left out of the message.
struct InputPlace {
  std::string file;
  int line = 0;  ///< 1-based; 0 when unknown
  std::string key;
};

/// Malformed or contradictory input. Message: `file:line: key: what was expected`.
class BadInput : public Error {
 public:
  explicit BadInput(const std::string& message) : Error(ExitCode::bad_input, message) {}
  BadInput(const InputPlace& place, const std::string& message);
  const InputPlace& place() const { return place_; }

 private:
  InputPlace place_;
};

/// No plan satisfies the constraints; the message names the obstacle and what is missing.
class Infeasible : public Error {
 public:
  explicit Infeasible(const std::string& message) : Error(ExitCode::infeasible, message) {}
};

/// The user requested a stop.
class InterruptedError : public Error {
 public:
  InterruptedError() : Error(ExitCode::interrupted, "interrupted") {}
};

/// A limit set by the user was reached before anything was found.
class LimitHit : public Error {
 public:
  explicit LimitHit(const std::string& which) : LimitHit(ExitCode::limit, which) {}

 protected:
  LimitHit(ExitCode code, const std::string& which)
      : Error(code, which + ", and no plan was found until then") {}
};
class TimedOut : public LimitHit {
 public:
  TimedOut() : LimitHit("the time limit is over") {}
};
class MemoryFull : public LimitHit {
 public:
  MemoryFull() : LimitHit("the memory limit is reached") {}
};
/// The user ended a search before it found a plan.
class SearchEnded : public LimitHit {
 public:
  SearchEnded() : LimitHit(ExitCode::interrupted, "interrupted") {}
};

/// Throws an internal error if `condition` is false; `promise` names the invariant that our own code broke.
void require(bool condition, const char* promise);

}  // namespace penstock::core
