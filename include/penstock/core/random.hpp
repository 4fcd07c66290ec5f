#pragma once
// Seeded random numbers, equal on every platform (std distributions are not).

#include <cstdint>

namespace penstock::core {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, fast, any seed is a good seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Skips this many calls of next.
  void skip(std::uint64_t calls) { state_ += calls * 0x9e3779b97f4a7c15u; }
  /// Uniform integer in [low, high], both ends included; low <= high.
  int between(int low, int high) {
    const auto span = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - low + 1);
    return static_cast<int>(low + static_cast<std::int64_t>(next() % span));
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace penstock::core
