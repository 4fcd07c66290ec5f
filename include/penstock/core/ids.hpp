#pragma once
// Indices as types: an operator's index cannot be passed where a device's index is expected.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace penstock::core {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value_(static_cast<std::int32_t>(index)) {}
  constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
  constexpr bool valid() const { return value_ >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::int32_t value_ = -1;
};

using OpId = Id<struct OpTag>;          ///< position of an operator in its OpGraph
using StageId = Id<struct StageTag>;    ///< position of a stage in its Plan
using DeviceId = Id<struct DeviceTag>;  ///< position of a device in its Cluster

}  // namespace penstock::core

template <class Tag>
struct std::hash<penstock::core::Id<Tag>> {
  std::size_t operator()(penstock::core::Id<Tag> id) const noexcept { return id.index(); }
};
