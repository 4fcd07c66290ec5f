#include "help_text.hpp"

#include <algorithm>
#include <sstream>

#include "penstock/report/lines.hpp"

namespace penstock::cli {
namespace {

constexpr std::size_t kWidth = 80, kNames = 28;  ///< cells of a line, and of them those of an option's name

/// The first line begins with `head`, the others with `indent` blanks; all but the last end with `end`.
std::string hanging(const std::string& head, const std::string& text, std::size_t indent, std::size_t width,
                    const std::string& end = "") {
  const auto lines =
      report::wrapped(text, width - std::max(indent, report::display_width(head)) - end.size());
  std::string out = head;
  for (std::size_t i = 0; i < lines.size(); ++i)
    out += (i > 0 ? std::string(indent, ' ') : "") + lines[i] + (i + 1 < lines.size() ? end : "") + "\n";
  return out;
}

std::string entry(const std::string& name, const std::string& description) {
  std::string head = "  " + name;
  if (head.size() >= kNames)
    return head + "\n" + hanging(std::string(kNames, ' '), description, kNames, kWidth);
  head.resize(kNames, ' ');
  return hanging(head, description, kNames, kWidth);
}

/// Where what follows the first word and a gap begins, else a little further in than the line.
std::size_t continuation(const std::string& line) {
  constexpr std::size_t kStep = 4;
  const std::size_t first = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", first);
  const std::size_t text = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string::npos ? first + kStep : text;
}

class NotesLayout {
 public:
  explicit NotesLayout(std::size_t width) : width_(width) {}
  void take(const std::string& line) {
    const bool flows = !line.empty() && line[0] != ' ';
    if (!flows) flush();
    if (line == "Example:" || line == "Examples:") {
      examples_ = true;
      out_ += line + "\n";
    } else if (flows) {
      paragraph_ += (paragraph_.empty() ? "" : " ") + line;
    } else {
      out_ += report::display_width(line) <= width_ ? line + "\n" : broken(line);
    }
  }
  std::string text() {
    flush();
    return out_;
  }

 private:
  std::string broken(const std::string& line) const {
    const std::size_t first = line.find_first_not_of(' ');
    const std::size_t indent = examples_ ? first + 4 : continuation(line);
    return hanging(line.substr(0, first), line.substr(first), indent, width_, examples_ ? " \\" : "");
  }
  void flush() {
    if (!paragraph_.empty()) out_ += report::folded(paragraph_, width_) + "\n";
    paragraph_.clear();
  }

  std::size_t width_;
  bool examples_ = false;
  std::string paragraph_, out_;
};

}  // namespace

std::string laid_out_notes(const std::string& notes, std::size_t width) {
  NotesLayout layout(width);
  std::istringstream in(notes);
  for (std::string line; std::getline(in, line);) layout.take(line);
  return layout.text();
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return report::folded(CLI::Formatter::make_description(app), kWidth);
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool positional) const {
  return entry(make_option_name(option, positional) + make_option_opts(option), make_option_desc(option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return entry(command->get_display_name(true), command->get_description());
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  return laid_out_notes(app->get_footer(), kWidth);
}

}  // namespace penstock::cli
