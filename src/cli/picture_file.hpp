#pragma once
// A picture written in the format of its file's ending: SVG as it is, PDF and PNG by a converter of the
// machine.

#include <string>

namespace penstock::cli {

/// Throws a usage error for an ending other than .svg, .pdf and .png. Throws BadInput where a converter is
/// needed and none is installed; its message names the packages.
void check_picture(const std::string& file);

/// Writes it whole or not at all. Throws as check_picture, and BadInput where the converter fails.
void write_picture(const std::string& file, const std::string& svg);

}  // namespace penstock::cli
