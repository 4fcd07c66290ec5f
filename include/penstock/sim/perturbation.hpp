#pragma once
// Perturbations of an iteration: slow devices, stragglers, jitter, links that weaken or fail, and sequences
// of unlike length. Speeds and bandwidths are constant between changes, as in the profiles of SimGrid
// (Casanova et al., JPDC 2014); differs in drawing a factor for every task.

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

/// Distribution of a factor on a task's duration, drawn for every task.
enum class Distribution : std::uint8_t {
  lognormal,  ///< mean one, standard deviation `width`
  normal,     ///< mean one, standard deviation `width`, cut off at zero
  uniform,    ///< from 1 - width to 1 + width
};
std::string_view name(Distribution distribution);

/// Read from a file for one cluster: names are resolved, values checked. Places are for messages.
struct Perturbation {
  /// Everything that it computes takes 1 / speed of its time.
  struct SlowDevice {
    std::size_t device = 0;
    double speed = 1;
    core::Place place;
  };
  /// From `from` until `to` the device computes at `speed` times its speed, passes under way included.
  struct Straggler {
    std::size_t device = 0;
    core::Picoseconds from, to;
    double speed = 1;
    core::Place place;
  };
  /// A transfer's factor is on the time of its bytes, not on its latency.
  struct Jitter {
    Distribution distribution = Distribution::lognormal;
    double width = 0;
    core::Place place;
  };
  struct LinkFault {
    struct Left {
      std::size_t link = 0;       ///< index into Cluster::links()
      core::Bandwidth bandwidth;  ///< what is left; zero: down
    };
    std::string name;         ///< "a to b"
    std::vector<Left> links;  ///< one direction or both
    core::Picoseconds at;
    core::Picoseconds restored = kNever;  ///< to what the cluster file says
    core::Place place;
  };
  static constexpr core::Picoseconds kNever{INT64_MAX};

  std::vector<SlowDevice> slow_devices;  ///< a device at most once
  std::vector<Straggler> stragglers;     ///< windows of a device do not overlap
  std::map<trace::TaskKind, Jitter> jitter;
  std::vector<LinkFault> link_faults;  ///< of a link they do not overlap
  std::optional<Lengths> lengths;      ///< none: all samples are full

  /// Whether devices, links and the time of tasks are as the cluster file and the costs say.
  bool only_lengths() const {
    return slow_devices.empty() && stragglers.empty() && jitter.empty() && link_faults.empty();
  }
  /// Whether a seed shows in it.
  bool draws() const { return !jitter.empty() || lengths.has_value(); }
};

/// Loads a perturbation file (docs/formats/perturbation.md describes the form). Throws BadInput with
/// file, line and key for what is malformed, contradicts itself or names what the cluster does not have.
Perturbation load_perturbation(const std::string& path, const cluster::Cluster& cluster);
Perturbation parse_perturbation(const std::string& text, const std::string& file,
                                const cluster::Cluster& cluster);

/// "1 slow device, 2 stragglers, jitter (forward lognormal 5%), 1 link fault, lengths (uniform 1 to 512)".
std::string in_words(const Perturbation& perturbation);

/// What an iteration never met, each in words with file and line: a device that computed nothing, a link that
/// no transfer used, a kind of task that did not occur, a window or fault that begins when all is over.
std::vector<std::string> unmet(const Perturbation& perturbation, const cluster::Cluster& cluster,
                               const trace::Trace& trace);

}  // namespace penstock::sim
