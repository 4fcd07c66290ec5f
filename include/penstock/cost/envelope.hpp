#pragma once
// Bytes that grow with the samples: lines, and the most of several.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "penstock/core/units.hpp"

namespace penstock::cost {

/// Bytes that grow evenly with the samples.
struct MemoryLine {
  core::Bytes fixed{}, each{};  ///< whatever the samples; per sample
  core::Bytes at(std::int64_t samples) const { return fixed + each * samples; }
  MemoryLine& operator+=(const MemoryLine& other) { return fixed += other.fixed, each += other.each, *this; }
  friend MemoryLine operator+(MemoryLine a, const MemoryLine& b) { return a += b; }
  friend bool operator==(const MemoryLine&, const MemoryLine&) = default;
};

/// The largest, at any number of samples, of the lines it was raised by. Never less; more only where more
/// than kLines of them are the most somewhere: then neighbours that differ least are taken together.
class MemoryEnvelope {
 public:
  static constexpr std::size_t kLines = 4;

  void raise(const MemoryLine& line);
  /// Zero before the first line.
  core::Bytes at(std::int64_t samples) const;
  /// Lines by growing `each`, and so falling `fixed`; none is redundant.
  std::span<const MemoryLine> lines() const { return {lines_.data(), size_}; }
  friend bool operator==(const MemoryEnvelope&, const MemoryEnvelope&) = default;

 private:
  void insert(const MemoryLine& line);
  void drop_covered();
  void join_nearest();
  void remove(std::size_t i);

  std::array<MemoryLine, kLines + 1> lines_{};  ///< those past `size_` are zero
  std::size_t size_ = 0;
};

}  // namespace penstock::cost
