#include "syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "help_text.hpp"

namespace penstock::cli {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// The name of its first validator that has one, as `one_of` and `suggest` write it.
std::vector<std::string> choices_of(CLI::Option& option) {
  try {
    for (int v = 0;; ++v)
      if (auto words = words_of(option.get_validator(v)->get_name()); !words.empty()) return words;
  } catch (const CLI::OptionNotFound&) {
    return {};  // anything goes
  }
}

std::vector<std::string> spellings_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true)};
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

CommandArgument argument_of(CLI::Option& option) {
  CommandArgument out;
  out.spellings = spellings_of(option);
  out.description = one_line(option.get_description());
  if (option.get_type_size() != 0) {
    out.value = option.get_type_name();
    out.takes_value = option.get_items_expected_min() > 0;
    out.repeats = option.get_expected_max() > 1;
    out.standard = option.get_default_str();
  }
  out.required = option.get_required();
  for (const CLI::Option* other : option.get_needs()) out.needs.push_back(other->get_name());
  out.choices = choices_of(option);
  return out;
}

void collect(CLI::App& app, const CLI::App* parent, std::vector<std::string> words,
             std::vector<CommandSyntax>& all) {
  words.push_back(app.get_name());
  CommandSyntax syntax{words, app.get_description(), "", {}, {}, {}, app.get_require_subcommand_min() > 0};
  constexpr std::size_t kNotesWidth = 76;  // as a page on 80 columns shows them
  if (!parent || app.get_footer() != parent->get_footer())
    syntax.notes = laid_out_notes(app.get_footer(), kNotesWidth);
  for (CLI::Option* option : app.get_options())
    (option->get_positional() ? syntax.positionals : syntax.options).push_back(argument_of(*option));
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below) syntax.commands.push_back(command->get_name());
  all.push_back(std::move(syntax));
  for (CLI::App* command : below) collect(*command, &app, words, all);
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

bool CommandArgument::list() const {
  return has(value, ",...");
}
bool CommandArgument::files() const {
  return has(value, "FILE") || has(value, "PATH");
}
bool CommandArgument::folders() const {
  return has(value, "DIR");
}

std::string CommandArgument::brief() const {
  return description.substr(0, std::min(description.find("; "), description.find(". ")));
}

std::string CommandSyntax::name(const char* between) const {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<CommandSyntax> command_syntax(CLI::App& app) {
  std::vector<CommandSyntax> all;
  collect(app, nullptr, {}, all);
  return all;
}

const CommandSyntax& sub_command(const std::vector<CommandSyntax>& all, const CommandSyntax& parent,
                                 const std::string& name) {
  auto words = parent.words;
  words.push_back(name);
  return *std::find_if(all.begin(), all.end(), [&](const CommandSyntax& c) { return c.words == words; });
}

}  // namespace penstock::cli
