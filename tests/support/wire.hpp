#pragma once
// Protocol buffers read the slow and plain way: a message as the list of its fields.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::support {

struct WireField {
  std::uint64_t number;
  std::uint64_t value = 0;  ///< of a varint or fixed64
  std::string_view bytes;   ///< of a length-delimited field
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  std::vector<WireField> fields() {
    std::vector<WireField> out;
    while (!rest_.empty()) {
      const std::uint64_t tag = varint();
      WireField field{tag >> 3, 0, {}};
      if (tag % 8 == 0) field.value = varint();
      if (tag % 8 == 1) field.value = fixed();
      if (tag % 8 == 2) field.bytes = take(varint());
      if (tag % 8 > 2 || field.number == 0) throw std::runtime_error("not a field");
      out.push_back(field);
    }
    return out;
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw std::runtime_error("a field runs past its message");
    const std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }
  std::uint64_t byte() { return static_cast<unsigned char>(take(1)[0]); }

  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      out |= (next & 0x7f) << shift;
      if (next < 0x80) return out;
    }
    throw std::runtime_error("a varint has more than ten bytes");
  }

  std::uint64_t fixed() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 8) out |= byte() << shift;
    return out;
  }

  std::string_view rest_;
};

}  // namespace penstock::support
