#pragma once
// Numbers as bytes: short where they are small.

#include <cstdint>
#include <string>

namespace penstock::core {

/// Seven bits in a byte, the lowest first, the eighth bit set in all but the last (LEB128; Protocol Buffers'
/// varint). Numbers that follow each other stay apart.
inline void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

}  // namespace penstock::core
