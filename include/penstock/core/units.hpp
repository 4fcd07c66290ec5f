#pragma once
// Physical quantities as types: no bare double carries a unit across a function boundary.

#include <compare>
#include <cstdint>

namespace penstock::core {

/// A number with a unit. Same-unit arithmetic only; conversion to and from numbers is explicit.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) { return Quantity(a.value_ / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }
  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }

 private:
  Rep value_{};
};

using Seconds = Quantity<struct SecondsTag, double>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using Bandwidth = Quantity<struct BandwidthTag, double>;  ///< bytes per second
using FlopRate = Quantity<struct FlopRateTag, double>;    ///< floating point operations per second

constexpr Seconds operator/(Bytes bytes, Bandwidth rate) {
  return Seconds(static_cast<double>(bytes.value()) / rate.value());
}
constexpr Seconds operator/(Flops work, FlopRate rate) {
  return Seconds(work.value() / rate.value());
}

/// Simulated time: an integer count, so that results do not depend on summation order.
using Picoseconds = Quantity<struct PicosecondsTag, std::int64_t>;

constexpr Picoseconds to_picoseconds(Seconds t) {
  return Picoseconds(static_cast<std::int64_t>(t.value() * 1e12 + 0.5));
}
constexpr Seconds to_seconds(Picoseconds t) {
  return Seconds(static_cast<double>(t.value()) * 1e-12);
}

}  // namespace penstock::core
