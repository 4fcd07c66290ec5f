#pragma once
// Collectives among the devices of one node, as they were measured.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::cluster {

/// Bytes as NVIDIA's benchmark of NCCL counts them: of the whole tensor; of an all-to-all, what each rank
/// sends to all, its own part included.
enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };
inline constexpr std::size_t kCollectiveKinds = 4;
std::string_view name(CollectiveKind kind);
CollectiveKind collective_kind(std::string_view name);  ///< throws BadInput for an unknown name

struct CollectiveTime {
  CollectiveKind kind;
  std::int64_t ranks, bytes;  ///< two ranks or more
  double seconds;             ///< above zero
};

/// Between sizes, and between numbers of ranks, linear in the logarithms of all; below the smallest size as
/// long as that, beyond the largest at its rate. A larger tensor takes no less time than a smaller one, and
/// of points of equal extents the slowest counts.
class CollectiveTimes {
 public:
  explicit CollectiveTimes(std::vector<CollectiveTime> rows);
  const std::vector<CollectiveTime>& rows() const { return rows_; }

  enum class Reach : std::uint8_t { measured, interpolated, extrapolated };
  struct Found {
    core::Seconds time;
    Reach reach = Reach::measured;
  };
  /// Time of one collective; none for more, or fewer, ranks than were measured.
  std::optional<Found> find(CollectiveKind kind, std::int64_t ranks, core::Bytes bytes) const;

 private:
  using Curve = std::map<double, double>;  ///< logarithms: bytes, seconds
  static Found along(const Curve& curve, double bytes);
  std::vector<CollectiveTime> rows_;
  std::array<std::map<double, Curve>, kCollectiveKinds> curves_;  ///< by the logarithm of ranks
};

}  // namespace penstock::cluster
