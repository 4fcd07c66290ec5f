#include "penstock/kernels/devices.hpp"

#include <fmt/format.h>

#include "cuda/backend.hpp"
#include "device_name.hpp"
#include "host/backend.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::kernels {

std::vector<std::string> device_kinds() {
  return {"host", "cuda:0", "cuda:0/2"};
}

std::vector<std::string> devices_present() {
  std::vector<std::string> devices = {"host"};
  for (int i = 0, count = cuda_devices(); i < count; ++i) devices.push_back(fmt::format("cuda:{}", i));
  return devices;
}

std::string device_for(const std::string& device, std::size_t index, const MachineShare& share) {
  return device == "cuda" ? to_string(spread(index, share, static_cast<std::size_t>(cuda_devices())))
                          : device;
}

std::vector<std::string> peers_of(const std::string& device) {
  if (!device.starts_with("cuda:")) return {device};
  std::vector<std::string> out;
  for (const CudaName& peer : peers(cuda_name(device), static_cast<std::size_t>(cuda_devices())))
    out.push_back(to_string(peer));
  return out;
}

std::unique_ptr<Backend> open_device(const std::string& device, int threads) {
  if (device == "host") return open_host(threads);
  if (device.starts_with("cuda:")) return open_cuda(device);
  throw core::BadInput(
      fmt::format("unknown device '{}'; {}", device, core::did_you_mean(device, device_kinds())));
}

}  // namespace penstock::kernels
