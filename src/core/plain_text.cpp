#include "penstock/core/plain_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace {

bool is_utf8(const std::string& line) {
  if (std::ranges::all_of(line, [](unsigned char c) { return c < 0x80; })) return true;
  try {
    (void)nlohmann::json(line).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace

void check_plain_text(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find('\0') != std::string::npos || !is_utf8(line))
      throw BadInput(InputPlace{file, number, ""}, "the line is not UTF-8 text");
  }
}

}  // namespace penstock::core
