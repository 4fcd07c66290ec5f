#include "penstock/calibrate/as_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/calibrate/link_fit.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/cost/calibrated.hpp"

namespace penstock::calibrate {
namespace {

using core::quoted;

std::string peaks(const cluster::DeviceType& type) {
  std::string out;
  for (std::size_t i = 0; i < cluster::kPrecisions; ++i)
    if (const double rate = type.peak[i].value(); rate > 0)
      out += fmt::format("{}{}: {:.5g}FLOP/s", out.empty() ? "" : ", ",
                         name(static_cast<cluster::Precision>(i)), rate);
  return out;
}

}  // namespace

std::optional<cost::AffineTime> peer_line(const cost::Calibration& calibration) {
  const auto link =
      std::ranges::find(calibration.links, cost::LinkKind::peer_copy, &cost::MeasuredLink::kind);
  return link == calibration.links.end() ? std::nullopt : fit_line(link->points);
}

namespace {

/// True unless the devices are GPUs that exchange messages. Other devices share one machine or one GPU.
bool share_memory(const cost::Calibration& calibration) {
  const std::string& backend = calibration.identity.backend;
  return !backend.starts_with("cuda:") || backend.find('/') != std::string::npos || !peer_line(calibration);
}

/// The key of a device type, or an empty text.
std::string host_launch(const cost::Calibration& calibration, LaunchMethod launching) {
  const bool gpu = calibration.identity.backend.starts_with("cuda:");
  if (launching == LaunchMethod::graph && !(gpu && calibration.graph_launch))
    throw core::BadInput(gpu ? "launches in graphs were not measured: calibrate once more"
                             : "a host has no graphs");
  if (!gpu || launching == LaunchMethod::free) return "";
  const core::Seconds time =
      launching == LaunchMethod::graph ? *calibration.graph_launch : calibration.launch_overhead;
  return fmt::format("host_launch: {:.5g}us, ", time.value() * 1e6);
}

}  // namespace

std::string cluster_yaml(const cost::Calibration& calibration, int devices, const cost::AffineTime& link,
                         LaunchMethod launching) {
  const cluster::DeviceType type = device_type(calibration);
  const std::string device = quoted(type.name);
  const bool shared = share_memory(calibration);
  std::string out = fmt::format(
      "# {} devices as measured {} on {}; each has {} memory.\nname: {}\ndevice_types:\n"
      "  {}: {{memory: {}B, memory_bandwidth: {:.5g}B/s, multiprocessors: {}, launch_overhead: {:.5g}us,\n"
      "    {}peak: {{{}}}}}\n{}machines:\n",
      devices, calibration.identity.date, calibration.identity.backend,
      shared ? "its part of the" : "all of its", quoted(fmt::format("{} of {}", devices, type.name)), device,
      type.memory.value() / (shared ? devices : 1), type.memory_bandwidth.value(), type.multiprocessors,
      type.launch_overhead.value() * 1e6, host_launch(calibration, launching), peaks(type),
      devices > 1 ? "switches: [between]\n" : "");
  for (int d = 0; d < devices; ++d) out += fmt::format("- {{name: d{}, device: {}, node: 0}}\n", d, device);
  if (devices == 1) return out;
  out += "links:\n";
  for (int d = 0; d < devices; ++d)  // a message takes two links: half the latency each
    out += fmt::format("- {{from: d{}, to: between, bandwidth: {:.5g}B/s, latency: {:.5g}us}}\n", d,
                       1 / link.per_byte, link.latency / 2 * 1e6);
  return out;
}

}  // namespace penstock::calibrate
