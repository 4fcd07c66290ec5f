#pragma once
// Text that results can repeat.

#include <string>

namespace penstock::core {

/// Throws BadInput with the line of bytes that are not UTF-8, which JSON cannot repeat, and of NUL, which ends
/// names of files.
void check_plain_text(const std::string& text, const std::string& file);

}  // namespace penstock::core
