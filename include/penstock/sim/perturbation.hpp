#pragma once
// Perturbations of an iteration: slow devices, stragglers, jitter, weak or failed links, and sequences of
// different lengths. Speeds and bandwidths are constant between changes, as in the profiles of SimGrid
// (Casanova et al., JPDC 2014). Differs: draws a factor for every task.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/sim/lengths.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

/// Distribution of the factor on a task's duration, drawn for every task.
enum class JitterDistribution : std::uint8_t {
  lognormal,  ///< mean one, standard deviation `width`
  normal,     ///< mean one, standard deviation `width`, truncated at zero
  uniform,    ///< from 1 - width to 1 + width
};
std::string_view name(JitterDistribution distribution);

/// A perturbation read from a file for one cluster: names are resolved, values checked. Places are for
/// messages.
struct Perturbation {
  /// All computation takes 1 / speed of its time.
  struct SlowDevice {
    std::size_t device = 0;
    double speed = 1;
    core::InputPlace place;
  };
  /// From `from` until `to` the device computes at `speed` times its speed, including passes under way.
  struct StragglerWindow {
    std::size_t device = 0;
    core::Picoseconds from, to;
    double speed = 1;
    core::InputPlace place;
  };
  /// For a transfer, the factor applies to the time of its bytes, not to its latency.
  struct TaskJitter {
    JitterDistribution distribution = JitterDistribution::lognormal;
    double width = 0;
    core::InputPlace place;
  };
  struct LinkFault {
    struct FaultyLink {
      std::size_t link = 0;       ///< index into Cluster::links()
      core::Bandwidth bandwidth;  ///< remaining bandwidth; zero: down
    };
    std::string name;               ///< "a to b"
    std::vector<FaultyLink> links;  ///< one direction or both
    core::Picoseconds at;
    core::Picoseconds restored = kNever;  ///< return to the bandwidth of the cluster file
    core::InputPlace place;
  };
  static constexpr core::Picoseconds kNever{INT64_MAX};

  std::vector<SlowDevice> slow_devices;     ///< at most one per device
  std::vector<StragglerWindow> stragglers;  ///< windows of a device do not overlap
  std::map<trace::TaskKind, TaskJitter> jitter;
  std::vector<LinkFault> link_faults;      ///< faults of one link do not overlap
  std::optional<SequenceLengths> lengths;  ///< none: all samples are full

  /// True if devices, links and durations of tasks are unperturbed.
  bool only_lengths() const {
    return slow_devices.empty() && stragglers.empty() && jitter.empty() && link_faults.empty();
  }
  /// True if the result depends on a seed.
  bool draws() const { return !jitter.empty() || lengths.has_value(); }
};

/// Loads a perturbation file (format: docs/formats/perturbation.md). Throws BadInput with file, line and key
/// for malformed or contradictory content, and for names that the cluster does not have.
Perturbation load_perturbation(const std::string& path, const cluster::Cluster& cluster);
Perturbation parse_perturbation(const std::string& text, const std::string& file,
                                const cluster::Cluster& cluster);

/// Returns a text such as "1 slow device, 2 stragglers, jitter (forward lognormal 5%), 1 link fault, lengths
/// (uniform 1 to 512)".
std::string in_words(const Perturbation& perturbation);

/// Parts of the perturbation without effect in an iteration, in words with file and line. They are a device
/// that computed nothing, a link without transfers, and a kind of task that did not occur. Also a window or
/// fault that begins after the end.
std::vector<std::string> unmet(const Perturbation& perturbation, const cluster::Cluster& cluster,
                               const trace::Trace& trace);

}  // namespace penstock::sim
