// penstock: plans, simulates and compares pipeline-parallel training.

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "command.hpp"
#include "help_text.hpp"
#include "interrupts.hpp"
#include "output_files.hpp"
#include "overview.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/experiment/provenance.hpp"
#include "replay_flags.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 10 wrong command line, 11 bad input, 12 output exists and\n"
    "            belongs to another run; 20 no plan fits, 21 invalid plan, 22 device\n"
    "            no longer matches its calibration, 23 a device failed;\n"
    "            30 interrupted (finished results and the best plan so far are kept),\n"
    "            31 problem too large, or a limit of time or memory reached;\n"
    "            40 a defect of penstock.";

int fail(core::ExitCode code, const std::string& message) {
  say(fmt::format("penstock: {}\n", message));
  return static_cast<int>(code);
}

/// Penstock's option for the name that training frameworks use; "" if this command has none.
std::string called_otherwise(const CLI::App& app, std::string_view given) {
  struct SameOption {
    std::string_view theirs, ours, option;
  };
  constexpr SameOption kNames[] = {
      {"--sequence", "-p sequence=N", "--parameter"},
      {"--seq-length", "-p sequence=N", "--parameter"},
      {"--seq-len", "-p sequence=N", "--parameter"},
      {"--vocab-size", "-p vocabulary=N", "--parameter"},
      {"--num-layers", "-p layers=N", "--parameter"},
      {"--global-batch-size", "--mini-batch", "--mini-batch"},
      {"--batch-size", "--mini-batch", "--mini-batch"},
      {"--micro-batch-size", "--micro-batch", "--micro-batch"},
      {"--zero", "--option max_zero=N, a limit of joint", "--option"},
      {"--zero-stage", "--option max_zero=N, a limit of joint", "--option"},
      {"--tensor-model-parallel-size", "--option max_tensor_parallel=N, a limit of joint", "--option"},
      {"--tp", "--option max_tensor_parallel=N, a limit of joint", "--option"},
      {"--cp", "--option max_context_parallel=N, a limit of joint", "--option"},
      {"--ep", "--option max_expert_parallel=N, a limit of joint", "--option"},
      {"--bf16", "--precision mixed_bf16", "--precision"},
      {"--fp16", "--precision mixed_fp16", "--precision"},
      {"--fsdp", "--for torchtitan or --for accelerate", "--for"},
      {"--cluster", "--gpus", "--gpus"},
      {"--context-parallel-size", "--option max_context_parallel=N, a limit of joint", "--option"},
      {"--expert-model-parallel-size", "--option max_expert_parallel=N, a limit of joint", "--option"},
      {"--nodes", "--gpus 8xH100xNODES", "--gpus"}};
  for (const SameOption& name : kNames)
    if (name.theirs == given && app.get_option_no_throw(std::string(name.option)))
      return std::string(name.ours);
  return "";
}

/// "'--modle' is no option of penstock plan; did you mean '--model'?"
std::string no_option(const CLI::App& app, const std::string& name, const std::string& given) {
  if (const std::string ours = called_otherwise(app, given); !ours.empty())
    return fmt::format("'{}' is not an option of {}; here it is {}", given, name, ours);
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& spelling : option->get_lnames()) known.push_back("--" + spelling);
  const std::string hint = core::did_you_mean(given, known);
  return fmt::format("'{}' is not an option of {}{}", given, name,
                     hint.starts_with("did you mean") ? "; " + hint : "");
}

/// A misspelt word is the cause where CLI11 misses the option that it should be.
std::string in_words(const CLI::App& app, const std::string& name, const CLI::ParseError& e) {
  if (const auto inside = app.get_subcommands(); !inside.empty())
    return in_words(*inside.front(), name + " " + inside.front()->get_name(), e);
  std::string out = e.what();
  const bool missing = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  const auto words = app.remaining();
  const auto option =
      std::ranges::find_if(words, [](const auto& word) { return word.size() > 1 && word[0] == '-'; });
  if (missing || e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const bool command_first = !words.empty() && words.front()[0] != '-' && !app.get_subcommands({}).empty();
    if (option != words.end() && !command_first)
      out = no_option(app, name, option->substr(0, option->find('=')));
    else if (!words.empty() && !app.get_subcommands({}).empty())
      out = no_command(app, words.front());
    else if (missing && !words.empty())
      out = fmt::format("'{}' was not expected; {}", words.front(), out);
    else if (missing && out == "--cluster is required" && app.get_option_no_throw("--gpus"))
      out = "--gpus or --cluster is required";
  }
  return out + "; see " + name + " --help";
}

/// Output may have been kept back until now: a full disk shows here.
int written(int code) {
  if (output_arrived()) return code;
  const int lost = fail(core::ExitCode::bad_input, "cannot write to standard output");
  return code == 0 ? lost : code;
}

int run(int argc, char** argv) {
  CLI::App app{"Plan, simulate and compare pipeline-parallel training of deep networks.", "penstock"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFooter);
  app.set_version_flag("--version",
                       fmt::format("penstock {} ({})", experiment::kVersion, experiment::kCommit));
  app.require_subcommand(1);
  Action action;
  for (auto add :
       {add_run,       add_plan,   add_improve,  add_compare,     add_pareto,   add_size,     add_rl,
        add_simulate,  add_replay, add_validate, add_models,      add_clusters, add_devices,  add_model,
        add_calibrate, add_import, add_export,   add_explain,     add_index,    add_planners, add_schedule,
        add_schedules, add_report, add_mcp,      add_completions, add_manual,   add_help})
    add(app, action);
  add_force(app);
  if (argc == 1) {
    print(overview());
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::CallForVersion& e) {
    print(e.what() + std::string("\n"));
    return 0;
  } catch (const CLI::ParseError& e) {
    return fail(core::ExitCode::usage, in_words(app, app.get_name(), e));
  }
  check_output_files(app);
  CommandContext session;
  session.force = forced(app);
  for (int i = 0; i < argc; ++i)
    session.command_line += (i ? " " : "") + std::string(i ? argv[i] : "penstock");
  session.stop = catch_interrupts;
  session.end_search = end_on_interrupts;
  return static_cast<int>(action(session));
}

}  // namespace
}  // namespace penstock::cli

int main(int argc, char** argv) {
  using penstock::core::ExitCode;
  try {
    penstock::cli::guard_streams();
    penstock::cli::await_interrupts();
    return penstock::cli::written(penstock::cli::run(argc, argv));
  } catch (const penstock::core::Error& e) {
    return penstock::cli::fail(e.code(), e.what());
  } catch (const std::system_error& e) {  // a file or a pipe that fails is not our defect
    return penstock::cli::fail(ExitCode::bad_input, e.what());
  } catch (const std::bad_alloc&) {
    return penstock::cli::fail(ExitCode::limit, "out of memory");
  } catch (const std::exception& e) {
    return penstock::cli::fail(ExitCode::internal, e.what());
  }
}
