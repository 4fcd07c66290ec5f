#pragma once
// Digests and checksums of content.

#include <string>
#include <string_view>

namespace penstock::core {

/// XXH3 with 128 bits as 32 hexadecimal digits (Collet, xxHash, canonical form), equal on every platform.
/// Collisions are improbable, but not hard to construct: no defence against an adversary.
std::string digest(std::string_view content);

/// CRC-32 (as in zip files) as 8 hexadecimal digits; detects content that was damaged in transit.
std::string checksum(std::string_view content);

}  // namespace penstock::core
