#include "penstock/kernels/devices.hpp"

#include <fmt/format.h>

#include "cuda/backend.hpp"
#include "host/backend.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::kernels {

std::vector<std::string> device_kinds() {
  return {"host", "cuda:0"};
}

std::vector<std::string> devices_present() {
  std::vector<std::string> devices = {"host"};
  for (int i = 0, count = cuda_devices(); i < count; ++i) devices.push_back(fmt::format("cuda:{}", i));
  return devices;
}

std::unique_ptr<Backend> open_device(const std::string& device, int threads) {
  if (device == "host") return open_host(threads);
  if (device.starts_with("cuda:")) return open_cuda(device);
  throw core::BadInput(
      fmt::format("unknown device '{}'; {}", device, core::did_you_mean(device, device_kinds())));
}

}  // namespace penstock::kernels
