#pragma once
// What it costs the devices of a node that they compute at once.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// What keeps a device busy: arithmetic, or bytes that it moves as fast as its memory lets it.
enum class Use : std::uint8_t { arithmetic, memory };
inline constexpr std::size_t kUses = 2;

/// The kernel that stands for a use where a device is measured: a large product, a large addition.
std::string_view kernel_of(Use use);

/// Parts of a pass's time, none below 0, at most 1 together; for the rest it waits, for its group or its
/// host.
struct Uses {
  double arithmetic = 0, memory = 0;
};

/// How many times as long one use takes beside neighbours that are busy with one use, by their number:
/// through what was measured in straight lines, from 1 for none; beyond the last on the line from there
/// through it. Never below 1, so that what holds for a device by itself bounds it.
class Crowding {
 public:
  /// [own use][neighbours' use] slowdowns beside 1, 2, ... neighbours. Empty where nothing is known: 1.
  using Table = std::array<std::array<std::vector<double>, kUses>, kUses>;
  Crowding() = default;
  explicit Crowding(Table table);
  bool empty() const;  ///< no slowdown at all
  double slowdown(Use own, Use neighbours, double count) const;

 private:
  Table table_;
};

/// What the calibration's products and additions say of each other.
Crowding crowding(std::span<const CrowdingTest> tests);

/// How many times as long work takes that is `own` while neighbours are busy with `others`, summed over them.
/// Passes are long rows of kernels whose phases know nothing of each other, so what the neighbours are busy
/// with counts by its expectation. Differs from fair shares of a bandwidth, in which a pass that asks for
/// little is never slowed: a product beside a copy is (results/hardware: 1.10).
double expected_slowdown(const Crowding& crowding, const Uses& own, const Uses& others);

/// What the two rows above say of a test, whatever its kernel: by the share of memory in its time.
double predicted_slowdown(const Crowding& crowding, const CrowdingTest& test);

/// Of one replica, by pass.
struct PassUses {
  Uses forward, recompute, backward, input_gradient, weight_gradient;
};

/// What passes do with their time, by CostModel::memory_time. Refers to the problem.
class StageUses {
 public:
  explicit StageUses(const Problem& problem);
  PassUses of(const plan::Stage& stage, std::size_t replica, std::int64_t samples) const;

 private:
  const Problem& problem_;
  cluster::Cluster unattended_;  ///< whose hosts nobody waits for
};

/// An update moves bytes alone.
inline constexpr Uses kUpdateUses{0, 1};

}  // namespace penstock::cost
