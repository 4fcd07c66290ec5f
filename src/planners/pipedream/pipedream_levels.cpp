#include "pipedream/pipedream_levels.hpp"

#include <algorithm>

#include "pipedream/pipedream_table.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;

/// Devices per node, if nodes are equal and hold consecutive devices; otherwise 0.
std::size_t node_size(const cluster::Cluster& cluster) {
  std::size_t size = 1;
  while (size < cluster.size() && cluster.node(DeviceId(size)) == cluster.node(DeviceId(0))) ++size;
  if (size == 1 || size == cluster.size() || cluster.size() % size != 0) return 0;
  for (std::size_t d = 1; d < cluster.size(); ++d)
    if ((cluster.node(DeviceId(d)) == cluster.node(DeviceId(d - 1))) != (d % size != 0)) return 0;
  return size;
}

/// Slowest bandwidth between devices d and d + 1, for d + 1 a multiple of `size` (`across`) or not.
double slowest(const cluster::Cluster& cluster, std::size_t size, bool across) {
  double bandwidth = kNever;
  for (std::size_t d = 0; d + 1 < cluster.size(); ++d)
    if (((d + 1) % size == 0) == across)
      bandwidth = std::min(bandwidth, cluster.route(DeviceId(d), DeviceId(d + 1)).bandwidth.value());
  return bandwidth;
}

class LevelPlacement {
 public:
  explicit LevelPlacement(const std::vector<PipedreamLevel>& levels) {
    std::size_t devices = 1;
    for (const PipedreamLevel& level : levels) {
      devices_.push_back(devices);
      devices *= static_cast<std::size_t>(level.machines);
    }
  }

  /// Adds stages on the same machines of the level behind each of `starts`.
  void add(const std::vector<PipedreamStage>& stages, std::size_t level,
           const std::vector<std::size_t>& starts) {
    std::size_t machine = 0;
    for (const PipedreamStage& stage : stages) {
      std::vector<std::size_t> here;
      for (std::size_t start : starts)
        for (std::size_t r = 0; r < static_cast<std::size_t>(stage.replicas); ++r)
          here.push_back(start + (machine + r) * devices_[level]);
      machine += static_cast<std::size_t>(stage.replicas);
      if (level > 0)
        add(stage.inside, level - 1, here);
      else
        placed.push_back({stage.first, stage.last, {here.begin(), here.end()}});
    }
  }

  std::vector<PlacedStage> placed;

 private:
  std::vector<std::size_t> devices_;  ///< [level] devices of one machine
};

}  // namespace

std::vector<PipedreamLevel> node_levels(const cluster::Cluster& cluster) {
  const std::size_t size = node_size(cluster);
  if (size == 0) return flat_level(cluster);
  return {{static_cast<int>(size), slowest(cluster, size, false), {}},
          {static_cast<int>(cluster.size() / size), slowest(cluster, size, true), {}}};
}

std::vector<PipedreamLevel> flat_level(const cluster::Cluster& cluster) {
  return {{static_cast<int>(cluster.size()), slowest(cluster, 1, true), {}}};
}

std::vector<PlacedStage> place(const std::vector<PipedreamStage>& stages,
                               const std::vector<PipedreamLevel>& levels) {
  LevelPlacement placement(levels);
  placement.add(stages, levels.size() - 1, {0});
  return std::move(placement.placed);
}

}  // namespace penstock::planners
