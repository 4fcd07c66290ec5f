#pragma once
// Clock of a device as a share of its full clock, if it can be measured.

#include <memory>
#include <optional>
#include <string>

namespace penstock::calibrate {

class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// The present clock as share of the full one; empty if unknown.
  virtual std::optional<double> share() = 0;
  virtual std::string method() const = 0;  ///< such as "cpufreq"
};

/// Host: the kernel's cpufreq if the machine has it. Otherwise the time of a chain of multiplications against
/// its best so far, which also notices a processor that others use. Other devices: unknown.
std::unique_ptr<DeviceClock> open_clock(const std::string& device);

}  // namespace penstock::calibrate
