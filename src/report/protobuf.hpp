#pragma once
// The part of the protocol buffers wire format that a writer needs. Private to the room. Source: "Encoding",
// protobuf.dev/programming-guides/encoding. Differs: there is no schema, fields are numbers.

#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/core/varint.hpp"

namespace penstock::report {

/// The bytes of one message. Fields appear in the order they are added.
class ProtobufMessage {
 public:
  void clear() { bytes_.clear(); }
  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }
  std::string_view bytes() const { return bytes_; }

  /// Adds a uint64, int64, enum or bool.
  ProtobufMessage& number(unsigned field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
    return *this;
  }
  /// Adds a fixed64: eight bytes, least significant first.
  ProtobufMessage& fixed(unsigned field, std::uint64_t value) {
    tag(field, 1);
    for (int byte = 0; byte < 8; ++byte) bytes_.push_back(static_cast<char>(value >> (8 * byte)));
    return *this;
  }
  ProtobufMessage& text(unsigned field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }
  ProtobufMessage& message(unsigned field, const ProtobufMessage& inner) { return text(field, inner.bytes_); }

 private:
  void tag(unsigned field, unsigned wire_type) { varint(field << 3 | wire_type); }

  void varint(std::uint64_t value) { core::append_varint(bytes_, value); }

  std::string bytes_;
};

}  // namespace penstock::report
