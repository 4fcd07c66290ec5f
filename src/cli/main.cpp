// penstock: plans, simulates and compares pipeline-parallel training.

#include <fmt/format.h>

#include "command.hpp"
#include "interrupts.hpp"
#include "replay_flags.hpp"
#include "version.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 10 wrong command line, 11 bad input; 20 no plan fits, 21 invalid plan, 22 drifted,\n"
    "            23 a device failed; 30 interrupted (finished results are kept), 31 too large or out of "
    "time;\n"
    "            40 a defect of penstock.";

int fail(core::ExitCode code, const std::string& message) {
  fmt::print(stderr, "penstock: {}\n", message);
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  CLI::App app{"Plan, simulate and compare pipeline-parallel training of deep networks.", "penstock"};
  app.footer(kFooter);
  app.set_version_flag("--version", fmt::format("penstock {} ({})", kVersion, kCommit));
  app.require_subcommand(1);
  Action action;
  for (auto add : {add_run, add_plan, add_compare, add_simulate, add_replay, add_validate, add_models,
                   add_model, add_calibrate, add_import, add_index, add_planners, add_schedule, add_schedules,
                   add_report, add_completions, add_manual})
    add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(core::ExitCode::usage, std::string(e.what()) + "; see penstock --help");
  }
  Session session;
  for (int i = 0; i < argc; ++i)
    session.command_line += (i ? " " : "") + std::string(i ? argv[i] : "penstock");
  session.stop = catch_interrupts;
  return static_cast<int>(action(session));
}

}  // namespace
}  // namespace penstock::cli

int main(int argc, char** argv) {
  using penstock::core::ExitCode;
  try {
    penstock::cli::await_interrupts();
    return penstock::cli::run(argc, argv);
  } catch (const penstock::core::Error& e) {
    return penstock::cli::fail(e.code(), e.what());
  } catch (const std::exception& e) {
    return penstock::cli::fail(ExitCode::internal, e.what());
  }
}
