#pragma once
// Integers as bytes, with fewer bytes for small numbers.

#include <cstdint>
#include <string>

namespace penstock::core {

/// Appends seven bits per byte, lowest first, with the eighth bit set in all bytes except the last (LEB128;
/// Protocol Buffers' varint). A sequence of numbers decodes without separators.
inline void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

}  // namespace penstock::core
