#pragma once
// Bytes as text: RFC 4648 section 4, with padding. Private to the room.

#include <string>
#include <string_view>

namespace penstock::report {

std::string base64(std::string_view bytes);

}  // namespace penstock::report
