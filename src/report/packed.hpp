#pragma once
// Text for a script of the page to unpack. Private to the room.

#include <string>

namespace penstock::report {

/// Deflates text (RFC 1950) and encodes it in base64, so that no character has a meaning in HTML.
std::string packed(const std::string& text);

}  // namespace penstock::report
