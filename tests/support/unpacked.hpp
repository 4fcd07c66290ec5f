#pragma once
// Unpacks text like a script of the page, independently of the packer.

#include <zlib.h>

#include <stdexcept>
#include <string>

namespace penstock::support {

/// Undoes base64 by looking every digit up, and the deflation (RFC 1950).
inline std::string unpacked(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits, bytes;
  for (const char c : text)
    for (int b = 5; c != '=' && b >= 0; --b) bits += digits.find(c) >> b & 1 ? '1' : '0';
  for (std::size_t i = 0; i + 8 <= bits.size(); i += 8)
    bytes += static_cast<char>(std::stoi(bits.substr(i, 8), nullptr, 2));
  for (std::size_t size = 4 * bytes.size() + 64;; size *= 2) {
    std::string out(size, '\0');
    uLongf got = size;
    const int fault = uncompress(reinterpret_cast<Bytef*>(out.data()), &got,
                                 reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    if (fault == Z_BUF_ERROR) continue;
    if (fault != Z_OK) throw std::runtime_error("not deflated");
    out.resize(got);
    return out;
  }
}

}  // namespace penstock::support
