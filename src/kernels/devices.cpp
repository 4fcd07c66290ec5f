#include "penstock/kernels/devices.hpp"

#include <fmt/format.h>

#include "host/backend.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::kernels {

std::vector<std::string> device_kinds() {
  return {"host"};
}

std::unique_ptr<Backend> open_device(const std::string& device, int threads) {
  if (device == "host") return open_host(threads);
  throw core::BadInput(
      fmt::format("unknown device '{}'; {}", device, core::did_you_mean(device, device_kinds())));
}

}  // namespace penstock::kernels
