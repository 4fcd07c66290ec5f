#include "penstock/cluster/collective_times.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/core/spelling.hpp"

namespace penstock::cluster {
namespace {

constexpr std::array<std::string_view, kCollectiveKinds> kNames = {"all_reduce", "all_gather",
                                                                   "reduce_scatter", "all_to_all"};

/// Logarithms that differ by less are equal.
constexpr double kSame = 1e-9;

}  // namespace

std::string_view name(CollectiveKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}
CollectiveKind collective_kind(std::string_view given) {
  return static_cast<CollectiveKind>(core::index_of(given, kNames, "collective"));
}

CollectiveTimes::CollectiveTimes(std::vector<CollectiveTime> rows) : rows_(std::move(rows)) {
  for (const CollectiveTime& row : rows_) {
    Curve& curve = curves_[static_cast<std::size_t>(row.kind)][std::log(static_cast<double>(row.ranks))];
    const double seconds = std::log(row.seconds);
    const auto [known, fresh] = curve.emplace(std::log(static_cast<double>(row.bytes)), seconds);
    if (!fresh) known->second = std::max(known->second, seconds);
  }
  for (auto& of_kind : curves_)
    for (auto& [ranks, curve] : of_kind) {
      double most = curve.begin()->second;
      for (auto& [bytes, seconds] : curve) seconds = most = std::max(most, seconds);
    }
}

CollectiveTimes::LookupResult CollectiveTimes::along(const Curve& curve, double bytes) {
  const auto above = curve.lower_bound(bytes - kSame);
  if (above == curve.end()) {
    const auto& [last, seconds] = *curve.rbegin();
    return {core::Seconds(std::exp(seconds + bytes - last)), LookupReach::extrapolated};
  }
  if (std::abs(above->first - bytes) < kSame)
    return {core::Seconds(std::exp(above->second)), LookupReach::measured};
  if (above == curve.begin()) return {core::Seconds(std::exp(above->second)), LookupReach::extrapolated};
  const auto below = std::prev(above);
  const double share = (bytes - below->first) / (above->first - below->first);
  return {core::Seconds(std::exp(below->second + share * (above->second - below->second))),
          LookupReach::interpolated};
}

std::optional<CollectiveTimes::LookupResult> CollectiveTimes::find(CollectiveKind kind, std::int64_t ranks,
                                                                   core::Bytes bytes) const {
  const auto& curves = curves_[static_cast<std::size_t>(kind)];
  const double at = std::log(static_cast<double>(ranks)), size = std::log(static_cast<double>(bytes.value()));
  const auto above = curves.lower_bound(at - kSame);
  if (above == curves.end() || bytes.value() <= 0) return {};
  const LookupResult upper = along(above->second, size);
  if (std::abs(above->first - at) < kSame) return upper;
  if (above == curves.begin()) return {};
  const auto below = std::prev(above);
  const LookupResult lower = along(below->second, size);
  const double share = (at - below->first) / (above->first - below->first),
               low = std::log(lower.time.value()), high = std::log(upper.time.value());
  return LookupResult{core::Seconds(std::exp(low + share * (high - low))),
                      std::max({LookupReach::interpolated, lower.reach, upper.reach})};
}

}  // namespace penstock::cluster
