#include "penstock/calibrate/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <limits>

namespace penstock::calibrate {
namespace {

const std::string kFrequencies = "/sys/devices/system/cpu/cpu0/cpufreq/";

double number_in(const std::string& path) {
  double value = 0;
  std::ifstream(path) >> value;
  return value;
}

class UnknownClock : public DeviceClock {
 public:
  std::optional<double> share() override { return std::nullopt; }
  std::string method() const override { return "not known"; }
};

class CpuFreq : public DeviceClock {
 public:
  static double full() { return number_in(kFrequencies + "base_frequency"); }
  std::optional<double> share() override {
    const double now = number_in(kFrequencies + "scaling_cur_freq");
    return now > 0 ? std::optional(now / full()) : std::nullopt;
  }
  std::string method() const override { return "cpufreq"; }
};

/// About 20 us of multiplications, each of which waits for the one before.
class SpinClock : public DeviceClock {
 public:
  SpinClock() {
    for (int i = 0; i < kTrials; ++i) share();
  }
  std::optional<double> share() override {
    const double time = spin();
    best_ = std::min(best_, time);
    return best_ / time;
  }
  std::string method() const override { return "chain of multiplications"; }

 private:
  static constexpr int kTrials = 100, kSteps = 15'000;

  double spin() {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kSteps; ++i) state_ = state_ * 0x9e3779b97f4a7c15u + 1;
    const volatile std::uint64_t sink = state_;
    static_cast<void>(sink);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::uint64_t state_ = 1;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<DeviceClock> open_clock(const std::string& device) {
  if (device != "host") return std::make_unique<UnknownClock>();
  if (CpuFreq::full() > 0) return std::make_unique<CpuFreq>();
  return std::make_unique<SpinClock>();
}

}  // namespace penstock::calibrate
