// Names of devices, and the error for an unknown name.

#include "penstock/kernels/devices.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"

using namespace penstock;

namespace {

std::string refusal(const std::string& device) {
  try {
    kernels::open_device(device);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "opened";
}

}  // namespace

TEST_CASE("the host is always there") {
  CHECK(kernels::devices_present().front() == "host");
  for (const std::string& device : kernels::devices_present()) CHECK(refusal(device) == "opened");
}

TEST_CASE("a device that is not there is refused by name") {
  CHECK(refusal("hots") == "unknown device 'hots'; did you mean 'host'?");
  for (const char* device :
       {"cuda:999", "cuda:", "cuda:x", "cuda:0x", "cuda:-1", "cuda:99999999999", "cuda:999/2"})
    CHECK(refusal(device).starts_with("device '" + std::string(device) + "': "));
  for (const char* device : {"cuda:0/", "cuda:0/0", "cuda:0/x"})
    CHECK(refusal(device) ==
          "device '" + std::string(device) +
              "': '/' is followed by how many equal partitions the device is cut into, 1 to "
              "256");
  CHECK(refusal("cuda").starts_with("unknown device 'cuda'"));
}

TEST_CASE("each name is one device, except cuda, which is all CUDA devices of the machine") {
  for (const char* device : {"host", "cuda:1", "cuda:0/2", "hots"})
    CHECK(kernels::device_for(device, 1, {0, 3, 3}) == device);
  CHECK(kernels::device_for("cuda", 0, {0, 1, 1}) == "cuda:0");
  CHECK(kernels::peers_of("host") == std::vector<std::string>{"host"});
  CHECK(kernels::peers_of("cuda:0/2") == std::vector<std::string>{"cuda:0/2", "cuda:0/2"});
}
