#pragma once
// The tasks of one training iteration and what waits for what. Private to the simulator.

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

/// The way of the transfers between two devices.
struct Path {
  core::DeviceId from, to;
  std::vector<std::uint32_t> links;
  std::int64_t latency = 0;  ///< ps
};

/// A link that becomes narrower, wider, or stops.
struct CapacityChange {
  std::int64_t time = 0;  ///< ps
  std::uint32_t link = 0;
  double capacity = 0;  ///< from then on, bytes per ps; zero: down
  std::string name;     ///< of the link, for messages
  core::Place place;    ///< in the file that asks for it
};

/// What devices of a node do to each other (crowding.hpp); empty where nothing is known.
struct Crowd {
  cost::Crowding slowdowns;
  std::vector<cost::Uses> uses;                         ///< [task] of what computes
  std::vector<std::vector<core::DeviceId>> neighbours;  ///< [device] others of its node
  bool empty() const { return neighbours.empty(); }
};

/// A directed acyclic graph: one successor in the task itself, the others in compressed rows.
struct TaskGraph {
  Tasks tasks;
  std::vector<std::uint32_t> successor_start;   ///< [task], one more than tasks
  std::vector<TaskId> successors;               ///< beyond Task::next
  std::vector<std::int32_t> predecessor_count;  ///< [task]
  std::vector<Path> paths;
  std::vector<double> capacity;  ///< [link], bytes per ps
  std::size_t devices = 0;       ///< of the cluster
  // Compute that communication slows down (overlap.hpp); empty when it does not.
  std::vector<double> overlap;                              ///< [device], factor on compute time, at least 1
  std::vector<std::vector<core::DeviceId>> stage_devices;   ///< [stage]
  std::vector<std::vector<core::DeviceId>> shared_devices;  ///< [shared parameters]
  Crowd crowd;                                              ///< of compute that its neighbours slow down
  // A perturbation (apply.hpp); all three are empty without one.
  std::vector<Speed> speed;             ///< [device], of passes over time, beside what is in their durations
  std::vector<double> stretch;          ///< [task], of a transfer: factor on the time its bytes take
  std::vector<CapacityChange> changes;  ///< in time order

  [[gnu::always_inline]] Task task(TaskId id) const { return tasks[static_cast<std::size_t>(id)]; }
  /// Who waits for whom, when all has run; the memory with it, which `= {}` would keep.
  void forget_edges();
  const Path& path(TaskId transfer) const { return paths[static_cast<std::size_t>(task(transfer).place)]; }
};

/// A task of no length, through which several others wait for several.
Task pause(core::StageId stage);

/// How fast a transfer that has the route to itself moves its bytes over time; one where no capacity changes.
Speed path_speed(const TaskGraph& graph, const Path& path);

/// Collects edges other than Task::next, then freezes both into rows.
class EdgeList {
 public:
  void add(TaskId before, TaskId after) { edges_.emplace_back(before, after); }
  /// Fills successor_start, successors and predecessor_count of `graph`.
  void freeze(TaskGraph& graph) const;

 private:
  struct Edge {
    Edge(TaskId b, TaskId a) : before(b), after(a) {}
    TaskId before, after;
  };
  std::vector<Edge> edges_;
};

}  // namespace penstock::sim
