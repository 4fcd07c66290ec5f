#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "colour.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::cli {
namespace {

/// A line written in place is on the terminal and has not been ended.
std::atomic<bool> line_open{false};

constexpr std::size_t kNarrowest = 20;  ///< a smaller reported width counts as unknown

/// The reader went away: ends as if the signal had not been ignored.
void end_by_broken_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

void flush() {
  if (std::fflush(stdout) != 0 && errno == EPIPE) end_by_broken_pipe();
}

void write_to_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size() && errno == EPIPE) end_by_broken_pipe();
}

/// In one piece as far as the kernel takes it, whatever comes of it.
void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::optional<std::size_t> columns_of_environment() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return std::nullopt;
  std::size_t columns = 0;
  const std::string_view given(text);
  const auto [end, fault] = std::from_chars(given.data(), given.data() + given.size(), columns);
  return fault == std::errc() && end == given.data() + given.size() ? std::optional(columns) : std::nullopt;
}

/// 0: no terminal, or one that does not report its width.
std::size_t columns_of(int terminal) {
  winsize size{};
  const std::size_t columns = ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  return columns < kNarrowest ? 0 : columns;
}

}  // namespace

void guard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) <
        0)  // the lowest number is taken; what it cannot do fails, as if it were closed
      static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  std::signal(SIGPIPE, SIG_IGN);
}

void end_line_in_place() {
  if (line_open.exchange(false)) write_to_stderr("\n");
}

void print(std::string_view text) {
  end_line_in_place();
  write_to_stdout(report::harmless(text));
}

bool output_arrived() {
  flush();
  return !std::ferror(stdout);
}

void say(std::string_view text) {
  flush();
  end_line_in_place();
  write_to_stderr(report::folded(report::harmless(text), columns_of(STDERR_FILENO)));
}

void warn(std::string_view text) {
  say(fmt::format("penstock: warning: {}\n", text));
}

void say_in_place(std::string_view text, bool last) {
  const std::size_t columns = columns_of(STDERR_FILENO), room = columns == 0 ? 80 : columns;
  const std::string line = report::wrapped(report::harmless(report::in_one_line(text)), room - 1).front();
  flush();
  write_to_stderr("\r\033[K" + line + (last ? "\n" : ""));
  line_open = !last;
}

bool terminal_hears() {
  return isatty(STDERR_FILENO) != 0;
}

report::ScreenLimits screen() {
  report::ScreenLimits out{0, "--columns all shows them", kMainColumns};
  if (isatty(STDOUT_FILENO) == 0) return out;
  const std::size_t width = columns_of_environment().value_or(columns_of(STDOUT_FILENO));
  if (width >= kNarrowest) out.width = width;
  return out;
}

std::size_t text_width(const report::ScreenLimits& screen) {
  constexpr std::size_t kUsual = 80;
  return screen.width == 0 ? kUsual : screen.width;
}

void WideFlag::add(CLI::App& command) {
  command
      .add_option(
          "--columns", columns,
          fmt::format("columns of tables: main, at most {}, or all, however wide they are", kMainColumns))
      ->capture_default_str()
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](std::string& given) {
            return given == "main" || given == "all" ? std::string()
                                                     : "expected main or all, not '" + given + "'";
          },
          "", "main all"));
  command.add_flag("--wide", wide, "same as --columns all");
}

report::ScreenLimits WideFlag::screen() const {
  return wide || columns == "all" ? report::ScreenLimits{} : cli::screen();
}

void print_page(std::string_view text, const report::ScreenLimits& screen) {
  end_line_in_place();
  const std::string page = report::harmless(report::folded(text, screen.width));
  write_to_stdout(colour_wanted() ? coloured(page) : page);
}

}  // namespace penstock::cli
