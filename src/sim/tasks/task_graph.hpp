#pragma once
// The tasks of one training iteration and their dependencies. Private to the simulator.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"
#include "penstock/cost/crowding.hpp"
#include "tasks/speed.hpp"
#include "tasks/tasks.hpp"

namespace penstock::sim {

/// Route of the transfers between two devices.
struct TransferPath {
  core::DeviceId from, to;
  std::vector<std::uint32_t> links;
  std::int64_t latency = 0;  ///< ps
};

/// A change of a link's capacity.
struct CapacityChange {
  std::int64_t time = 0;  ///< ps
  std::uint32_t link = 0;
  double capacity = 0;     ///< bytes per ps from then on; zero: down
  std::string name;        ///< name of the link, for messages
  core::InputPlace place;  ///< place in the file that states it
};

/// Slow-down between devices of a node (crowding.hpp); empty if nothing is known.
struct NodeCrowd {
  cost::CrowdingSlowdown slowdowns;
  std::vector<cost::UseShares> uses;                    ///< [task] resources that computing tasks use
  std::vector<std::vector<core::DeviceId>> neighbours;  ///< [device] other devices of its node
  bool empty() const { return neighbours.empty(); }
};

/// A directed acyclic graph. One successor is in the task itself, the others are in compressed rows.
struct TaskGraph {
  TaskStore tasks;
  std::vector<std::uint32_t> successor_start;   ///< [task] one more entry than tasks
  std::vector<TaskId> successors;               ///< beyond Task::next
  std::vector<std::int32_t> predecessor_count;  ///< [task]
  std::vector<TransferPath> paths;
  std::vector<double> capacity;  ///< [link], bytes per ps
  std::size_t devices = 0;       ///< number in the cluster
  // Computation that communication slows down (overlap.hpp); empty if there is none.
  std::vector<double> overlap;                              ///< [device], factor on compute time, at least 1
  std::vector<std::vector<core::DeviceId>> stage_devices;   ///< [stage]
  std::vector<std::vector<core::DeviceId>> shared_devices;  ///< [shared parameters]
  NodeCrowd crowd;                                          ///< computation that neighbours slow down
  // Perturbation (apply.hpp); all three are empty without one.
  std::vector<SpeedProfile> speed;  ///< [device] speed of passes over time, in addition to their durations
  std::vector<double> stretch;      ///< [task] for transfers: factor on the time of their bytes
  std::vector<CapacityChange> changes;  ///< sorted by time

  [[gnu::always_inline]] Task task(TaskId id) const { return tasks[static_cast<std::size_t>(id)]; }
  /// Frees the dependencies after a run, including their memory, which `= {}` would keep.
  void forget_edges();
  const TransferPath& path(TaskId transfer) const {
    return paths[static_cast<std::size_t>(task(transfer).place)];
  }
};

/// A task of no length that joins several dependencies.
Task pause(core::StageId stage);

/// Speed of a transfer's bytes over time if it has the route to itself; constant one if no capacity changes.
SpeedProfile path_speed(const TaskGraph& graph, const TransferPath& path);

/// Collects edges other than Task::next, then stores both in rows.
class EdgeList {
 public:
  void add(TaskId before, TaskId after) { edges_.emplace_back(before, after); }
  /// Fills successor_start, successors and predecessor_count of `graph`.
  void freeze(TaskGraph& graph) const;

 private:
  struct TaskEdge {
    TaskEdge(TaskId b, TaskId a) : before(b), after(a) {}
    TaskId before, after;
  };
  std::vector<TaskEdge> edges_;
};

}  // namespace penstock::sim
