#pragma once
// How --help reads: 80 columns, whatever the screen, so that it is the same text everywhere.

#include <CLI/CLI.hpp>
#include <string>

namespace penstock::cli {

/// A command's notes in lines of at most `width` cells. Lines that begin with no blank flow together; others
/// stay lines, broken where they are too long: below "Example:" or "Examples:" as a shell reads them.
std::string laid_out_notes(const std::string& notes, std::size_t width);

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace penstock::cli
