#include "penstock/core/digest.hpp"

#include <doctest/doctest.h>

using penstock::core::checksum;
using penstock::core::digest;

TEST_CASE("a digest is XXH3's with 128 bits") {
  // The digest of an empty text is published: `xxhsum -H2 </dev/null` prints it.
  CHECK(digest("") == "99aa06d3014798d86001c324468d497f");
  CHECK(digest("a") != digest("b"));
  CHECK(digest(std::string("a\0b", 3)) != digest("a"));
}

TEST_CASE("a checksum is CRC-32's") {
  CHECK(checksum("123456789") == "cbf43926");  // the check value of its catalogue entry (CRC-32/ISO-HDLC)
  CHECK(checksum("") == "00000000");
}
