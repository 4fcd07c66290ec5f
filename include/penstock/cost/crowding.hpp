#pragma once
// How devices of a node slow each other when they compute at once.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Uses that keep a device busy: arithmetic, or bytes that it moves as fast as its memory lets it.
enum class DeviceUse : std::uint8_t { arithmetic, memory };
inline constexpr std::size_t kUses = 2;

/// The kernel that represents a use where a device is measured: a large product, a large addition.
std::string_view kernel_of(DeviceUse use);

/// Parts of a pass's time, none below 0, at most 1 together. In them the pass uses none, half and all of what
/// the memory of one device can move. For the rest it waits, for its group or its host.
struct UseShares {
  static constexpr std::size_t kLevels = 3;
  std::array<double, kLevels> at{};
  double busy() const { return at[0] + at[1] + at[2]; }
};

/// Uses of a kernel that needs `demand` of the memory, 0 to 1: parts at the levels on both sides.
UseShares uses_of(double demand);

/// How many times as long kernels take beside neighbours, from measured products and additions.
class CrowdingSlowdown {
 public:
  /// [own use][neighbours' use] slowdowns beside 1, 2, ... neighbours. Empty where nothing is known: 1.
  using Table = std::array<std::array<std::vector<double>, kUses>, kUses>;
  CrowdingSlowdown() = default;
  explicit CrowdingSlowdown(
      Table table);    ///< factors below 1 count as 1, so that bounds that leave out neighbours hold
  bool empty() const;  ///< no slowdown at all

  /// Slowdown of a kernel that needs `demand`, 0 to 1, of what one device can move, beside so many neighbours
  /// that need `others` together. As measured where each needs nothing or all. In between it is flat on both
  /// sides of the line where all demands together fill what one device can move. Kernels that fit beside each
  /// other do not slow each other; others share what there is. More neighbours than were measured lie on the
  /// line from none through the last.
  double slowdown(double demand, double neighbours, double others) const;

 private:
  double measured(DeviceUse own, DeviceUse neighbours, double count) const;
  Table table_;
};

/// Crowding by the calibration's products and additions beside each other.
CrowdingSlowdown crowding(std::span<const CrowdingTest> tests);

/// Factor by which a pass takes longer while neighbours run theirs. A pass is a long row of kernels with
/// different demands, and rows of two devices are independent. So every kernel meets the demands of its
/// neighbours by chance, and the expectation counts. Differs from max-min fair shares of a bandwidth by
/// average demands of passes, which slow no pass whose average fits. Of what validation-host's plans lose on
/// two devices beyond one, that explains a quarter, this half (docs/decisions.md).
double expected_slowdown(const CrowdingSlowdown& crowding, const UseShares& own,
                         std::span<const UseShares> others);

/// Slowdown by the two functions above for a test, whatever its kernel: by the share of memory in its time.
double predicted_slowdown(const CrowdingSlowdown& crowding, const CrowdingTest& test);

/// Uses of one replica, by pass.
struct PassUses {
  UseShares forward, recompute, backward, input_gradient, weight_gradient;
};

/// Uses of time by passes, by CostModel::memory_time. Refers to the problem.
class StageUses {
 public:
  explicit StageUses(const Problem& problem);
  PassUses of(const plan::Stage& stage, std::size_t replica, std::int64_t samples) const;

 private:
  const Problem& problem_;
  cluster::Cluster unattended_;  ///< without launch times of hosts
};

/// An update only moves bytes.
inline constexpr UseShares kUpdateUses{{0, 0, 1}};

}  // namespace penstock::cost
