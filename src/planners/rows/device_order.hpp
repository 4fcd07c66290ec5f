#pragma once
// A sequence of devices in which well-connected devices are neighbours.

#include "penstock/cluster/cluster.hpp"
#include "rows/minimum_cut.hpp"

namespace penstock::planners {

/// Bytes per second between every two devices that take part, both directions together, with other points
/// eliminated. A point with links c_1 ... c_n and sum C becomes links c_i c_j / C between its neighbours (the
/// star-mesh transform, Rosen, 1924, with bandwidth as conductance). A link that many pairs share counts once
/// in total; a switch with two links is as good as their series. Throws like `stop`.
Weights device_bandwidths(const cluster::Cluster& cluster, core::StopToken stop = {});

/// Recursive device ordering, after SPP (Luo et al., INFOCOM 2022; reconstructed). A minimum cut splits the
/// devices, each half is ordered in the same way, and the halves follow each other, that of the
/// lowest-numbered device first. Differs: halves are flipped if that joins them by a faster pair. Throws like
/// `stop`.
std::vector<std::size_t> device_order(const Weights& weights, core::StopToken stop = {});
/// Orders at most 256 devices (the time grows with their fourth power); more keep their numbering.
std::vector<std::size_t> device_order(const cluster::Cluster& cluster, core::StopToken stop = {});

}  // namespace penstock::planners
