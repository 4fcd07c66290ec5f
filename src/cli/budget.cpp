#include "budget.hpp"

#include <chrono>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::cli {

TimeBudget::TimeBudget(const std::string& text, core::StopToken interrupts) {
  const auto time = text.empty() ? std::nullopt : core::parse_seconds(text);
  if (!text.empty() && !time)
    throw core::Error(core::ExitCode::usage, "--budget: expected a time such as 2min, not '" + text + "'");
  const core::StopToken clock = time ? core::StopToken().within(*time) : core::StopToken();
  look(interrupts, clock);
  thread_ = std::thread([this, interrupts, clock] {
    constexpr std::chrono::milliseconds kPause(20);
    for (; !done_ && !stop_; std::this_thread::sleep_for(kPause)) look(interrupts, clock);
  });
}

void TimeBudget::look(core::StopToken interrupts, core::StopToken clock) {
  over_ = clock.timed_out();
  stop_ = over_ || interrupts.interrupted();
}

void add_budget(CLI::App& command, std::string& budget) {
  command
      .add_option(
          "--budget", budget,
          "time for the command, which then ends as with Ctrl-C, with exit code 31: finished results stay, "
          "and the same command resumes. Default: none")
      ->type_name("TIME");
}

TimeBudget::~TimeBudget() {
  done_ = true;
  thread_.join();
}

}  // namespace penstock::cli
