// Whatever the bytes, a calibration is read or refused; what is read is written so that it reads the same.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/cost/calibration.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  for (const std::string& text : {body, cost::sealed(body)}) try {
      const std::string once = cost::to_yaml(cost::parse_calibration(text, "fuzz"));
      core::require(cost::to_yaml(cost::parse_calibration(once, "fuzz")) == once,
                    "a calibration is written as it was read");
    } catch (const core::BadInput&) {
    }
  return 0;
}
