#include "penstock/cost/plausible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "penstock/cluster/catalogue.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::cost {
namespace {

constexpr double kFastest = 20e15;       ///< FLOP/s in 16 bits: several times the fastest GPU of 2026
constexpr double kWidestMemory = 50e12;  ///< B/s, likewise
constexpr double kWidestLink = 10e12;    ///< B/s, likewise
constexpr double kScatter = 0.9;         ///< a later time may be this share of an earlier one
constexpr double kRounding = 1 + 1e-6;

struct DeviceLimits {
  std::string name;
  double flops = 0, memory = 0;
};

/// Device types of all built-in clusters and short forms; of several of one name the fastest.
const std::map<std::string, DeviceLimits>& known() {
  static const std::map<std::string, DeviceLimits> all = [] {
    std::map<std::string, DeviceLimits> out;
    const auto take = [&](const std::string& text, const std::string& name) {
      const cluster::Cluster cluster = cluster::parse_cluster(text, name);
      for (const cluster::DeviceType& type : cluster.types()) {
        DeviceLimits& limits = out[core::lower_case(type.name)];
        limits.name = type.name;
        for (const auto number : {cluster::Precision::fp32, cluster::Precision::tf32,
                                  cluster::Precision::bf16, cluster::Precision::fp16})
          limits.flops = std::max(limits.flops, type.peak[static_cast<std::size_t>(number)].value());
        limits.memory = std::max(limits.memory, type.memory_bandwidth.value());
      }
    };
    for (const cluster::BuiltIn& each : cluster::catalogue()) take(std::string(each.text), each.name);
    for (const cluster::RentedGpu& each : cluster::rented()) {
      const std::string form = fmt::format("1x{}", each.name);
      take(cluster::to_yaml(*cluster::parse_short_form(form), form), form);
    }
    return out;
  }();
  return all;
}

/// Limits of the type whose name is part of the device's; of several the one with the longest name.
DeviceLimits limits_of(const std::string& device) {
  const std::string name = core::lower_case(device);
  DeviceLimits out{"any device", kFastest, kWidestMemory};
  std::size_t longest = 0;
  for (const auto& [type, limits] : known())
    if (type.size() > longest && name.find(type) != std::string::npos) {
      longest = type.size();
      out = limits;
    }
  return out;
}

}  // namespace

std::string above_peak(double flops, double seconds, const std::string& device) {
  const DeviceLimits limits = limits_of(device);
  if (flops <= limits.flops * seconds * kRounding) return "";
  return fmt::format(
      "{:.6g} TFLOP/s, above the {:.6g} TFLOP/s of {} at its peak: is the time in another unit?",
      flops / seconds * 1e-12, limits.flops * 1e-12, limits.name);
}

std::string far_below_peak(double best, const std::string& device) {
  constexpr double kFar = 0.01;
  const DeviceLimits limits = limits_of(device);
  if (limits.flops == kFastest || best == 0 || best >= kFar * limits.flops) return "";
  return fmt::format("{:.4g} TFLOP/s at most, {:.2g} % of the peak of {}: are times in another unit?",
                     best * 1e-12, best / limits.flops * 100, limits.name);
}

std::string below_any_kernel(double seconds) {
  constexpr double kShortest = 1e-7;
  if (seconds >= kShortest) return "";
  return fmt::format("{:.3g} us, less than any kernel takes: is the time in another unit?", seconds * 1e6);
}

std::string above_any_kernel(double seconds) {
  constexpr double kLongest = 1000;
  if (seconds <= kLongest) return "";
  return fmt::format("{:.3g} s, more than any kernel takes: is the time in another unit?", seconds);
}

std::string above_memory_bandwidth(double bytes, double seconds, const std::string& device) {
  const DeviceLimits limits = limits_of(device);
  if (bytes <= limits.memory * seconds * kRounding) return "";
  return fmt::format("{:.6g} GB/s, above the {:.6g} GB/s of the memory of {}: is it in another unit?",
                     bytes / seconds * 1e-9, limits.memory * 1e-9, limits.name);
}

std::string above_link_bandwidth(double bytes, double seconds) {
  if (bytes <= kWidestLink * seconds) return "";
  return fmt::format("{:.6g} GB/s per rank, above the {:.6g} GB/s of any link: is the time in another unit?",
                     bytes / seconds * 1e-9, kWidestLink * 1e-9);
}

std::string no_efficiency(double share, double most) {
  if (share > 0 && share <= most) return "";
  return fmt::format("expected an efficiency above 0 and at most {}{}, found {}", most,
                     share > most ? " (a share, not percent)" : "", share);
}

std::string falling(std::span<const std::int64_t> sizes, std::span<const double> seconds) {
  for (std::size_t i = 1, longest = 0; i < sizes.size(); ++i) {
    if (seconds[i] < kScatter * seconds[longest])
      return fmt::format("{} at {}, but only {} at {}: time falls as the size grows",
                         core::show(core::Seconds(seconds[longest])), sizes[longest],
                         core::show(core::Seconds(seconds[i])), sizes[i]);
    if (seconds[i] > seconds[longest]) longest = i;
  }
  return "";
}

std::string above_whole(double mfu) {
  if (mfu <= kRounding) return "";
  return fmt::format("MFU {:.1f} %: no device computes faster than its peak", mfu * 100);
}

}  // namespace penstock::cost
