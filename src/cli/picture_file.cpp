#include "picture_file.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

/// Programs that turn SVG into PDF and PNG, the preferred one first.
constexpr const char *kRsvg = "rsvg-convert", *kCairo = "cairosvg";

std::string ending_of(const std::string& file) {
  return fs::path(file).extension().string();
}

/// Where the program lies in PATH.
std::optional<std::string> found(const char* program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + program;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file)) return file;
  }
  return std::nullopt;
}

/// The converter's command; PNG has twice as many pixels as the SVG states, for print.
std::optional<std::vector<std::string>> command_for(const std::string& ending, const std::string& svg,
                                                    const std::string& out) {
  const std::string format = ending.substr(1);
  if (const auto rsvg = found(kRsvg))
    return std::vector<std::string>{*rsvg,      "--format", format, "--zoom", format == "png" ? "2" : "1",
                                    "--output", out,        svg};
  if (const auto cairo = found(kCairo))
    return std::vector<std::string>{*cairo,     "--format", format, "--scale", format == "png" ? "2" : "1",
                                    "--output", out,        svg};
  return std::nullopt;
}

[[noreturn]] void refuse_without_converter(const std::string& file) {
  throw core::BadInput(fmt::format(
      "{}: a {} file needs {} (Debian: apt-get install librsvg2-bin) or {} (pip install cairosvg), and "
      "neither "
      "is installed; an SVG needs none: {}",
      file, ending_of(file).substr(1), kRsvg, kCairo, fs::path(file).replace_extension(".svg").string()));
}

/// Runs a program. Returns its exit status; that of a shell if the program does not start.
int run_program(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (posix_spawn(&process, arguments.front(), nullptr, nullptr, arguments.data(), environ) != 0) return 127;
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

void check_picture(const std::string& file) {
  const std::string ending = ending_of(file);
  if (ending == ".svg") return;
  if (ending != ".pdf" && ending != ".png")
    throw core::Error(core::ExitCode::usage,
                      fmt::format("{}: expected a name that ends in .svg, .pdf or .png", file));
  if (!command_for(ending, "", "")) refuse_without_converter(file);
}

void write_picture(const std::string& file, const std::string& svg) {
  check_picture(file);
  const std::string ending = ending_of(file);
  if (ending == ".svg") return core::write_file(file, svg);
  const core::TemporaryFolder scratch(fs::temp_directory_path().string() + "/penstock");
  const std::string in = scratch.path() + "/in.svg", out = scratch.path() + "/out" + ending;
  core::write_file(in, svg);
  const auto command = command_for(ending, in, out);
  if (!command) refuse_without_converter(file);
  if (const int status = run_program(*command); status != 0 || !fs::exists(out))
    throw core::BadInput(fmt::format("{}: {} failed with exit code {}; an SVG needs no converter", file,
                                     command->front(), status));
  core::write_file(file, core::read_file(out));
}

}  // namespace penstock::cli
