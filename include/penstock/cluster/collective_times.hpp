#pragma once
// Measured times of collectives among the devices of one node.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::cluster {

/// Kind of a collective. Bytes are counted as in NVIDIA's nccl-tests: the size of the whole tensor; for an
/// all-to-all, what each rank sends to all ranks, including itself.
enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };
inline constexpr std::size_t kCollectiveKinds = 4;
std::string_view name(CollectiveKind kind);
CollectiveKind collective_kind(std::string_view name);  ///< throws BadInput for an unknown name

struct CollectiveTime {
  CollectiveKind kind;
  std::int64_t ranks, bytes;  ///< two ranks or more
  double seconds;             ///< above zero
};

/// Interpolates linearly in the logarithms of bytes, ranks and seconds. Below the smallest size, the time of
/// that size applies; beyond the largest size, its rate. Larger tensors never take less time than smaller
/// ones. Of several rows with equal sizes and ranks the slowest counts.
class CollectiveTimes {
 public:
  explicit CollectiveTimes(std::vector<CollectiveTime> rows);
  const std::vector<CollectiveTime>& rows() const { return rows_; }

  enum class LookupReach : std::uint8_t { measured, interpolated, extrapolated };
  struct LookupResult {
    core::Seconds time;
    LookupReach reach = LookupReach::measured;
  };
  /// Time of one collective; nothing for more or fewer ranks than were measured.
  std::optional<LookupResult> find(CollectiveKind kind, std::int64_t ranks, core::Bytes bytes) const;

 private:
  using Curve = std::map<double, double>;  ///< logarithm of bytes to logarithm of seconds
  static LookupResult along(const Curve& curve, double bytes);
  std::vector<CollectiveTime> rows_;
  std::array<std::map<double, Curve>, kCollectiveKinds> curves_;  ///< [kind] curve by the logarithm of ranks
};

}  // namespace penstock::cluster
