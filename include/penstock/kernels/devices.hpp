#pragma once
// Catalogue of backends.

#include <memory>
#include <string>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

std::vector<std::string> device_kinds();     ///< "host"; "cuda:0" and "cuda:0/2" represent all numbers
std::vector<std::string> devices_present();  ///< "host", and every CUDA device that this build can use

/// Opens "host", or "cuda:0", "cuda:1", ..., or "cuda:0/4": one of four equal partitions of the device's
/// multiprocessors. It is the one with the fewest backends, so that four have one each; memory is shared.
/// `threads`: number of threads of host kernels, at least 1 (0: as many as the machine has processors); other
/// devices ignore it. Throws BadInput for an unknown device, and naming what this build or this machine
/// lacks.
std::unique_ptr<Backend> open_device(const std::string& device, int threads = 0);

/// Numbers of devices of a machine that work in parallel: of processes before this one, of this one, of all.
struct MachineShare {
  std::size_t before = 0, own = 0, all = 0;
};
/// Name of the device to open as number `index` of this process's devices. Equals `device`, except for
/// "cuda", which means all GPUs that the process sees: one each, after those of processes before. If these
/// are too few for all, the process uses only its own: one each, or a partition each of equal size.
std::string device_for(const std::string& device, std::size_t index, const MachineShare& share);

/// Devices to be opened together with this one: for a GPU the machine's others, for a partition the others of
/// its GPU, for the host none. Throws BadInput for an invalid CUDA device name.
std::vector<std::string> peers_of(const std::string& device);

}  // namespace penstock::kernels
