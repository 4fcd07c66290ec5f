#include "penstock/core/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#include <zlib.h>

namespace penstock::core {

std::string digest(std::string_view content) {
  const XXH128_hash_t hash = XXH3_128bits(content.data(), content.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string checksum(std::string_view content) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(content.data());
  return fmt::format("{:08x}", crc32_z(0, bytes, content.size()));
}

}  // namespace penstock::core
