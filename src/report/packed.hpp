#pragma once
// Text for a script of the page to unpack. Private to the room.

#include <string>

namespace penstock::report {

/// Deflated (RFC 1950), in base64: no character in it means anything to HTML.
std::string packed(const std::string& text);

}  // namespace penstock::report
