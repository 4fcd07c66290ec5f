// penstock: plans, simulates and compares pipeline-parallel training.

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <system_error>

#include "command.hpp"
#include "interrupts.hpp"
#include "penstock/core/spelling.hpp"
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

/// Of a word that is no command CLI11 says only that a command is required.
std::string in_words(const CLI::App& app, const CLI::ParseError& e) {
  if (const auto inside = app.get_subcommands(); !inside.empty()) return in_words(*inside.front(), e);
  const auto words = app.remaining();
  if (words.empty() || e.get_exit_code() != static_cast<int>(CLI::ExitCodes::RequiredError)) return e.what();
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (commands.empty()) return e.what();
  return fmt::format("'{}' is no command; {}", words.front(), core::did_you_mean(words.front(), commands));
}

/// What was printed may have been kept back until now: a full disk shows here.
int written(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  const int lost = fail(core::ExitCode::bad_input, "cannot write to standard output");
  return code == 0 ? lost : code;
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
    return fail(core::ExitCode::usage, in_words(app, e) + "; see penstock --help");
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
    return penstock::cli::written(penstock::cli::run(argc, argv));
  } catch (const penstock::core::Error& e) {
    return penstock::cli::fail(e.code(), e.what());
  } catch (const std::system_error& e) {  // a file or a pipe that fails is nobody's defect
    return penstock::cli::fail(ExitCode::bad_input, e.what());
  } catch (const std::bad_alloc&) {
    return penstock::cli::fail(ExitCode::limit, "out of memory");
  } catch (const std::exception& e) {
    return penstock::cli::fail(ExitCode::internal, e.what());
  }
}
