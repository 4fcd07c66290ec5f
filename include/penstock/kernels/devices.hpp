#pragma once
// The catalogue of backends.

#include <memory>
#include <string>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

std::vector<std::string> device_kinds();     ///< "host"; "cuda:0", "cuda:0/2" for all that are numbered so
std::vector<std::string> devices_present();  ///< "host", and every CUDA device that this build can use

/// Opens "host", or "cuda:0", "cuda:1", ..., or "cuda:0/4": one of four equal partitions of the device's
/// multiprocessors, the one that fewest backends are on, so that four have one each; memory is shared.
/// `threads` is how many threads host kernels use, at least 1 (0: as many as the machine has processors);
/// other devices ignore it. Throws BadInput for an unknown device, and where this build or this machine lacks
/// what a device needs, saying which.
std::unique_ptr<Backend> open_device(const std::string& device, int threads = 0);

/// How many devices of a machine work side by side: for processes before this one, for this one, for all.
struct MachineShare {
  std::size_t before = 0, own = 0, all = 0;
};
/// Name of the device to open as number `index` of this process's devices: `device` itself, but for "cuda",
/// which is all GPUs that the process sees: one each, after those of processes before. Where they are too few
/// for all, the process has them for itself: one each, or a partition each of equal size.
std::string device_for(const std::string& device, std::size_t index, const MachineShare& share);

/// The device and those of its kind beside it, to be opened together: of a GPU the machine's others, of a
/// partition the others of its GPU; of the host none. Throws BadInput for a CUDA device that is no name.
std::vector<std::string> peers_of(const std::string& device);

}  // namespace penstock::kernels
