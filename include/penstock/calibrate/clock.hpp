#pragma once
// Whether a device runs at its full clock, where that can be known.

#include <memory>
#include <optional>
#include <string>

namespace penstock::calibrate {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Present clock as share of the full one; none when nobody knows.
  virtual std::optional<double> share() = 0;
  virtual std::string method() const = 0;  ///< such as "cpufreq"
};

/// Host: the kernel's cpufreq where the machine shows it, else the time of a chain of multiplications against
/// its best so far, which also notices a processor taken away by others. Other devices: not known.
std::unique_ptr<Clock> open_clock(const std::string& device);

}  // namespace penstock::calibrate
