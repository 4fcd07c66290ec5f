#pragma once
// An end that was set beforehand.

#include <CLI/CLI.hpp>
#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "penstock/core/stop.hpp"
#include "penstock/core/units.hpp"

namespace penstock::cli {

/// Stops work as Ctrl-C does, once the time is over or Ctrl-C was pressed: what is under way leaves no
/// result, what is finished stays. A search's own limit is something else: its best plan counts.
class TimeBudget {
 public:
  /// "2min"; empty: no end. Throws a usage error for what is no time.
  TimeBudget(const std::string& time, core::StopToken interrupts);
  ~TimeBudget();
  TimeBudget(const TimeBudget&) = delete;
  TimeBudget& operator=(const TimeBudget&) = delete;

  core::StopToken stop() const { return core::StopToken(&stop_); }
  bool over() const { return over_; }

 private:
  void look(core::StopToken interrupts, core::StopToken clock);
  std::atomic<bool> stop_{false}, over_{false}, done_{false};
  std::thread thread_;
};

/// --budget.
void add_budget(CLI::App& command, std::string& budget);

}  // namespace penstock::cli
