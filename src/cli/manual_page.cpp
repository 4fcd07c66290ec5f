#include "manual_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "penstock/experiment/provenance.hpp"

namespace penstock::cli {
namespace {

/// Text as roff prints it: hyphens and quotes stay those of ASCII, and no line is taken for a request.
std::string roff(const std::string& text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}
std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}
std::string section(const char* name) {
  return fmt::format(".SH {}\n", name);
}
std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The page, and what it is called in lists of pages.
std::string name_lines(const CommandSyntax& command) {
  std::string summary = command.summary;
  if (summary.ends_with('.')) summary.pop_back();
  return fmt::format(".TH {} 1 \"\" \"penstock {}\" \"Penstock\"\n", roff(upper(page_name(command))),
                     experiment::kVersion) +
         section("NAME") + roff(page_name(command)) + " \\- " + roff(summary) + "\n";
}

std::string synopsis(const CommandSyntax& command) {
  std::string out = section("SYNOPSIS") + bold(command.name()) + " [" + italic("OPTIONS") + "]";
  for (const CommandArgument& positional : command.positionals) out += " " + italic(positional.spellings[0]);
  if (!command.commands.empty())
    out += command.needs_command ? " " + italic("SUBCOMMAND") : " [" + italic("SUBCOMMAND") + "]";
  return out + "\n";
}

/// Conditions that --help shows in capitals and signs.
std::string conditions(const CommandArgument& argument) {
  std::string out;
  if (argument.required) out += " Required.";
  if (argument.repeats) out += " May be repeated.";
  if (!argument.standard.empty()) out += " Default: " + argument.standard + ".";
  for (const std::string& other : argument.needs) out += " Only with " + other + ".";
  return out.empty() ? out : "." + out;
}

std::string entry(const CommandArgument& argument) {
  const auto& names = argument.spellings;
  std::string out = ".TP\n";
  for (const std::string& name : names) out += (name == names[0] ? "" : ", ") + bold(name);
  if (!argument.value.empty() && argument.value != names[0]) out += " " + italic(argument.value);
  return out + "\n" + roff(argument.description + conditions(argument)) + "\n";
}

std::string entries(const char* heading, const std::vector<CommandArgument>& arguments) {
  std::string out = arguments.empty() ? "" : section(heading);
  for (const CommandArgument& argument : arguments) out += entry(argument);
  return out;
}

std::string commands(const std::vector<CommandSyntax>& all, const CommandSyntax& command) {
  std::string out = command.commands.empty() ? "" : section("SUBCOMMANDS");
  for (const std::string& name : command.commands)
    out += ".TP\n" + bold(name) + "\n" + roff(sub_command(all, command, name).summary) + "\n";
  return out;
}

/// Notes with lines as they are: those that begin with a blank are set so, others flow; examples have a
/// section.
class ManualNotes {
 public:
  explicit ManualNotes(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) take(line);
    verbatim(false);
  }
  std::string description, examples;

 private:
  void take(const std::string& line) {
    if (line == "Example:" || line == "Examples:") {
      out_ = &examples;
    } else if (line.empty()) {
      verbatim(false);
      gap_ = true;
    } else {
      verbatim(line.starts_with(' '));
      if (gap_ && !out_->empty() && !verbatim_) *out_ += ".PP\n";
      gap_ = false;
      *out_ += roff(line) + "\n";
    }
  }
  void verbatim(bool on) {
    if (on == verbatim_) return;
    if (on && !out_->empty()) *out_ += ".PP\n";
    *out_ += on ? ".nf\n" : ".fi\n";
    verbatim_ = on;
  }

  std::string* out_ = &description;
  bool verbatim_ = false;
  bool gap_ = false;  ///< an empty line came last
};

/// The pages next to this one: the command's above it, and its sub-commands'.
std::string see_also(const std::vector<CommandSyntax>& all, const CommandSyntax& command) {
  std::vector<std::string> pages;
  for (const CommandSyntax& other : all) {
    const auto& [shorter, longer] = std::minmax(
        command.words, other.words, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (longer.size() == shorter.size() + 1 && std::equal(shorter.begin(), shorter.end(), longer.begin()))
      pages.push_back(page_name(other));
  }
  std::string out = section("SEE ALSO");
  for (const std::string& page : pages)
    out += ".BR " + roff(page) + (page == pages.back() ? " (1)\n" : " (1),\n");
  return out;
}

}  // namespace

std::string page_name(const CommandSyntax& command) {
  return command.name("-");
}

std::string manual_page(const std::vector<CommandSyntax>& all, const CommandSyntax& command) {
  const bool program = command.words.size() == 1;
  const ManualNotes notes(program ? "" : command.notes);
  std::string out =
      name_lines(command) + synopsis(command) + section("DESCRIPTION") + roff(command.summary) + "\n";
  if (!notes.description.empty()) out += ".PP\n" + notes.description;
  out += entries("ARGUMENTS", command.positionals) + entries("OPTIONS", command.options) +
         commands(all, command);
  if (!notes.examples.empty()) out += section("EXAMPLES") + notes.examples;
  return out + section("EXIT STATUS") + ManualNotes(all[0].notes).description + see_also(all, command);
}

}  // namespace penstock::cli
