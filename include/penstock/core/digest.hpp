#pragma once
// Names content by what it is.

#include <string>
#include <string_view>

namespace penstock::core {

/// 32 hexadecimal digits, XXH3 with 128 bits (Collet, xxHash, canonical form): the same on every platform.
/// Equal for unequal content by mistake alone; it is no defence against an adversary.
std::string digest(std::string_view content);

/// 8 hexadecimal digits, CRC-32 as zip files have it: tells that content changed on its way.
std::string checksum(std::string_view content);

}  // namespace penstock::core
