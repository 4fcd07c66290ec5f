#include "output_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/experiment/run.hpp"
#include "penstock/report/page.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

/// Options that name a file to write, and whether the beginning of a file may be what they write.
struct OutputOption {
  std::string_view name;
  bool (*fits)(std::string_view begin);
};

bool anything(std::string_view) {  // checked by the command itself
  return true;
}
bool is_svg(std::string_view begin) {
  return begin.find("<svg") != begin.npos;
}
bool is_picture(std::string_view begin) {
  return is_svg(begin) || begin.starts_with("%PDF") || begin.starts_with("\x89PNG");
}
bool is_trace(std::string_view begin) {
  return begin.starts_with('\n') || begin.starts_with('{') || begin.starts_with('[');
}
/// Cells with commas between, in the first line already.
bool is_csv(std::string_view begin) {
  const std::string_view line = begin.substr(0, begin.find('\n'));
  return line.find(',') != line.npos && line.find(": ") == line.npos && !line.starts_with('{') &&
         !line.starts_with('<') && !line.starts_with('#');
}

template <const char* Mark>
bool has(std::string_view begin) {
  return begin.find(Mark) != begin.npos;
}
constexpr char kPlan[] = "penstock_plan:", kTables[] = "penstock_kernel_tables:",
               kProfile[] = "penstock_profile:", kReference[] = "penstock: model_reference",
               kCluster[] = "device_types:";

/// A model file or a drawing of it.
bool is_model(std::string_view begin) {
  return begin.find("\"penstock\": \"model\"") != begin.npos || begin.starts_with("digraph");
}
bool is_model_or_reference(std::string_view begin) {
  return is_model(begin) || has<kReference>(begin);
}
/// First words of what `penstock export` writes.
bool is_handover(std::string_view begin) {
  constexpr std::string_view kBegins[] = {"# Arguments for Megatron-LM", "# Sections of a torchtitan",
                                          "# Sections of a NeMo AutoModel",
                                          "# For torch.distributed.pipelining"};
  const bool deepspeed = begin.starts_with('{') && (begin.find("_left_out") != begin.npos ||
                                                    begin.find("train_batch_size") != begin.npos);
  return deepspeed || std::ranges::any_of(kBegins, [&](std::string_view b) { return begin.starts_with(b); });
}
/// A page, or rows in one of the formats of `penstock report`.
bool is_report(std::string_view begin) {
  const std::size_t first = begin.find('\n');
  const bool ruled = first != begin.npos && begin.substr(first + 1).starts_with("---");
  return report::is_page(begin) || is_csv(begin) || ruled || begin.starts_with('|') ||
         begin.find("\\begin{tabular}") != begin.npos ||
         (begin.starts_with('{') && begin.find("\"provenance\"") != begin.npos);
}

/// Output of -o of a command, where the command itself does not look; and files that only this command
/// writes.
struct CommandOutput {
  std::string_view command;
  OutputOption option;
};
constexpr std::array<CommandOutput, 12> kOfCommands = {{{"model", {"output", is_model}},
                                                        {"hf", {"output", is_model_or_reference}},
                                                        {"megatron", {"output", has<kPlan>}},
                                                        {"pipedream-graph", {"output", is_model}},
                                                        {"pipedream-graph", {"costs", has<kProfile>}},
                                                        {"piper-json", {"output", is_model}},
                                                        {"piper-json", {"costs", has<kProfile>}},
                                                        {"kernels", {"output", has<kTables>}},
                                                        {"export", {"output", is_handover}},
                                                        {"report", {"output", is_report}},
                                                        {"cluster", {"output", has<kCluster>}},
                                                        {"fit", {"output", has<kCluster>}}}};

constexpr std::array<OutputOption, 8> kOutputs = {{{"output", anything},
                                                   {"svg", is_svg},
                                                   {"perfetto", is_trace},
                                                   {"csv", is_csv},
                                                   {"losses", is_csv},
                                                   {"nearest", has<kPlan>},
                                                   {"page", anything},
                                                   {"chart", is_picture}}};

/// Nothing where the option names a folder.
const OutputOption* output_option(const CLI::App& command, const CLI::Option& option) {
  if (option.get_type_name().find("DIR") != std::string::npos) return nullptr;
  for (const CommandOutput& known : kOfCommands)
    if (command.get_name() == known.command && std::ranges::count(option.get_lnames(), known.option.name) > 0)
      return &known.option;
  for (const OutputOption& known : kOutputs)
    for (const std::string& name : option.get_lnames())
      if (name == known.name) return &known;
  return nullptr;
}

struct NamedFile {
  std::string option, path;
  const OutputOption* writes;  ///< none: it is read
};

std::vector<NamedFile> named_files(const CLI::App& command) {
  std::vector<NamedFile> out;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& value : option->results())
      if (!value.empty())
        out.push_back({option->get_name(false, false), value, output_option(command, *option)});
  return out;
}

bool one_file(const std::string& a, const std::string& b) {
  std::error_code fault;
  if (fs::equivalent(a, b, fault)) return true;
  const auto whole = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, fault), fault);
  };
  return whole(a) == whole(b);
}

std::string beginning(const std::string& path) {
  constexpr std::size_t kEnough = 4096;  // comments may come first
  std::string out(kEnough, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

void check_replaced(const NamedFile& output, const std::vector<NamedFile>& all) {
  std::error_code fault;
  if (!fs::is_regular_file(output.path, fault) || fs::is_empty(output.path, fault)) return;
  const auto refuse = [&](const std::string& why) {
    throw core::Error(experiment::kOccupied, fmt::format("{} {}: {}; choose another name, or --force",
                                                         output.option, output.path, why));
  };
  for (const NamedFile& other : all)
    if (other.writes == nullptr && fs::is_regular_file(other.path, fault) &&
        one_file(output.path, other.path))
      refuse("the command reads this file");
  if (!output.writes->fits(beginning(output.path)))
    refuse("there is a file of another kind, which penstock did not write for this option");
}

}  // namespace

void add_force(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    add_force(*command);
    const auto options = command->get_options();
    const bool writes = std::ranges::any_of(
        options, [&](const CLI::Option* option) { return output_option(*command, *option) != nullptr; });
    if (writes && command->get_option_no_throw("--force") == nullptr)
      command->add_flag("--force")->description(
          "replace output files that the command reads, or that hold something else");
  }
}

bool forced(const CLI::App& command) {
  for (const CLI::App* inner : command.get_subcommands()) return forced(*inner);
  const CLI::Option* force = command.get_option_no_throw("--force");
  return force != nullptr && force->count() > 0;
}

void check_output_files(const CLI::App& command) {
  for (const CLI::App* inner : command.get_subcommands()) return check_output_files(*inner);
  const auto all = named_files(command);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].writes == nullptr) continue;
    for (std::size_t j = 0; j < i; ++j)
      if (all[j].writes != nullptr && one_file(all[i].path, all[j].path))
        throw core::Error(core::ExitCode::usage, fmt::format("{} and {} are one file: {}", all[j].option,
                                                             all[i].option, all[i].path));
    if (!forced(command)) check_replaced(all[i], all);
  }
}

}  // namespace penstock::cli
