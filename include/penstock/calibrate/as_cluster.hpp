#pragma once
// The measured device as a cluster of several such, to plan for where they will run.

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/communication.hpp"

namespace penstock::calibrate {

/// One line through the copies between two devices, all sizes counting alike; nothing when none were
/// measured.
std::optional<cost::Affine> peer_line(const cost::Calibration& calibration);

/// How the host of a GPU launches kernels; threads of a host call theirs.
enum class Launching : std::uint8_t {
  free,   ///< nobody waits for it
  eager,  ///< one by one, as a replay does
  graph,  ///< as one captured graph
};

/// The text of a cluster file: `devices` (at least one) of the device, each with its part of the memory,
/// since that is what they share, but for GPUs whose copies to each other were measured; every message takes
/// the time of `link`, which one device alone does without. Peaks and bandwidth are the measured ceilings, so
/// nothing in it is from a data sheet. GPUs wait for their hosts as long as launches of that kind took
/// (host_launch); throws BadInput where launches in graphs were not measured.
std::string cluster_yaml(const cost::Calibration& calibration, int devices, const cost::Affine& link,
                         Launching launching = Launching::eager);

}  // namespace penstock::calibrate
