#include "page_output.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "penstock/core/files.hpp"
#include "penstock/experiment/run.hpp"

namespace penstock::cli {

void PageOutput::add(CLI::App& command) {
  command
      .add_option(
          "--page", file_,
          "write the answer as one HTML page, with stages, timeline and memory of each plan; replaces "
          "only a page that Penstock wrote")
      ->type_name("FILE");
}

void PageOutput::check(bool force) const {
  namespace fs = std::filesystem;
  if (force || !given() || !fs::is_regular_file(file_)) return;
  if (report::is_page(core::read_file(file_))) return;
  throw core::Error(
      experiment::kOccupied,
      fmt::format(
          "{} exists and is not a page of Penstock; choose another name (--page), move it away, or use "
          "--force",
          file_));
}

void PageOutput::write(const report::Page& page) const {
  core::write_file(file_, report::to_html(page));
  say(fmt::format("page written to {}\n", file_));
}

}  // namespace penstock::cli
