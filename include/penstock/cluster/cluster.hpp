#pragma once
// Devices and the links between them.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/cluster/collective_times.hpp"
#include "penstock/cluster/runtime.hpp"
#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"

namespace penstock::cluster {

/// tf32, fp8 and fp4 are only rates of products.
enum class Precision : std::uint8_t { fp32, tf32, bf16, fp16, fp8, fp4 };
inline constexpr std::size_t kPrecisions = 6;
std::string_view name(Precision precision);
/// Throws BadInput for an unknown name, and for fp8 and fp4, in which no kernel is timed.
Precision precision(std::string_view name);

/// Data sheet of an accelerator.
struct DeviceType {
  std::string name;
  core::Bytes memory;  ///< available for training: data sheet less `reserved`
  core::Bandwidth memory_bandwidth;
  std::array<core::FlopRate, kPrecisions> peak{};  ///< zero: not stated
  int multiprocessors = 1;                         ///< units that run thread blocks independently
  core::Seconds launch_overhead;                   ///< from issuing a kernel to its start
  double overlap_slowdown =
      1;  ///< factor on compute time while the device sends, receives or reduces; at least 1
  /// Training framework of the device's host; none: not stated.
  std::optional<FrameworkRuntime> runtime{};
  /// Factor on the time of every kernel; none: not stated. Covers lower clocks under sustained load, and
  /// memory bandwidth that others use meanwhile.
  std::optional<double> kernel_slowdown{};
  /// Memory that frameworks and libraries hold with any plan: CUDA's context, NCCL's buffers, fragmentation
  /// of the allocator.
  core::Bytes reserved{};
  std::optional<double> price{};  ///< dollars per device and hour; none: not stated

  double slowdown() const { return kernel_slowdown.value_or(1); }
  FrameworkRuntime host() const { return runtime.value_or(FrameworkRuntime()); }
  /// Peak rate; falls back to fp32 if the data sheet states no rate for `precision`.
  core::FlopRate peak_rate(Precision precision) const;
};

/// One direction of a cable. Points are devices first, then switches.
struct Link {
  std::size_t from = 0;  ///< point
  std::size_t to = 0;    ///< point
  core::Bandwidth bandwidth;
  core::Seconds latency;
};

/// Path from one device to another: `links` are indices into Cluster::links().
struct Route {
  std::vector<std::size_t> links;
  core::Bandwidth bandwidth;  ///< bandwidth of the slowest link
  core::Seconds latency;      ///< sum over links
  core::Seconds time(core::Bytes bytes) const { return latency + bytes / bandwidth; }
};

/// A path that replaces the shortest one, from one device to another.
struct GivenRoute {
  std::size_t from = 0;            ///< device
  std::size_t to = 0;              ///< device
  std::vector<std::size_t> links;  ///< in order of travel, passing no point twice
};

struct Device {
  std::size_t type = 0;  ///< index into Cluster::types()
  int node = 0;          ///< devices of one node share a host
};

class RouteFinder;

/// Immutable. A route has the fewest links, unless one is given; ties go to the link listed first.
class Cluster {
 public:
  /// `points`: names, devices first; empty: points are named by number. Throws BadInput if two devices have
  /// no path between them, or if a link or a given route is impossible.
  Cluster(std::string name, std::vector<DeviceType> types, std::vector<Device> devices, std::size_t switches,
          std::vector<Link> links, std::vector<std::string> points = {}, std::vector<GivenRoute> routes = {});

  const std::string& name() const { return name_; }
  std::size_t size() const { return devices_.size(); }
  const std::vector<DeviceType>& types() const { return types_; }
  const std::vector<Device>& devices() const { return devices_; }
  const DeviceType& type(core::DeviceId id) const { return types_[devices_[id.index()].type]; }
  int node(core::DeviceId id) const { return devices_[id.index()].node; }
  const std::vector<Link>& links() const { return links_; }
  /// Names of all points. First come the listed() devices, of which the first size() take part; switches
  /// follow.
  const std::vector<std::string>& points() const { return points_; }
  std::size_t listed() const { return listed_; }
  Route route(core::DeviceId from, core::DeviceId to) const;  ///< from != to
  /// Given routes: links by {from, to}; a device at an end may not take part.
  const std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>>& given_routes() const {
    return given_;
  }

  /// Returns the same network with only the first `count` devices taking part. Throws BadInput if there are
  /// fewer.
  Cluster first(int count) const;
  /// Returns the cluster with this runtime (DeviceType::runtime) on the hosts of all devices.
  Cluster run_by(const FrameworkRuntime& runtime) const;
  /// Returns the cluster with hosts that take no time; kernels stay fused or not.
  Cluster without_host_times() const;
  /// Returns the cluster with this runtime for types that state none.
  Cluster run_where_unstated(
      const std::function<std::optional<FrameworkRuntime>(const DeviceType&)>& runtime) const;
  /// Returns the cluster with this DeviceType::kernel_slowdown on all devices.
  Cluster slowed_by(double factor) const;
  /// Returns the cluster with this slow-down for types that state none.
  Cluster slowed_where_unstated(const std::function<double(const DeviceType&)>& slowdown) const;
  /// Returns the cluster with `bytes` reserved on every device (DeviceType::reserved), whatever its file
  /// states. Throws BadInput if a device has no more memory than that.
  Cluster reserving(core::Bytes bytes) const;
  /// Returns the cluster with measured times of collectives within a node.
  Cluster measured_by(std::shared_ptr<const CollectiveTimes> collectives) const;
  /// Measured times of collectives within a node; null: none were measured.
  const CollectiveTimes* collectives() const { return collectives_.get(); }

 private:
  void check_given(const GivenRoute& route) const;
  std::string name_;
  std::vector<DeviceType> types_;
  std::vector<Device> devices_;
  std::size_t listed_ = 0;
  std::vector<std::string> points_;
  std::vector<Link> links_;
  std::shared_ptr<const RouteFinder> routes_;  ///< routes of the whole network, shared by its parts
  std::shared_ptr<const CollectiveTimes> collectives_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> given_;  ///< {from, to}: links
};

/// Loads a cluster file (experiments/clusters/README.md describes the form).
Cluster load_cluster(const std::string& path);
Cluster parse_cluster(const std::string& text, const std::string& file);

}  // namespace penstock::cluster
