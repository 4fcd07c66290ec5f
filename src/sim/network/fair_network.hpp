#pragma once
// Links whose bandwidth the transfers on them share.

#include "network/max_min.hpp"
#include "network/network.hpp"

namespace penstock::sim {

/// A ready transfer waits for its route's latency, holding nothing; then its bytes flow at the max-min fair
/// rate. Rates change after all starts and ends of one moment. What a flow has left is counted in bytes, as a
/// double, and only where its rate changes, so neither the order of events of one moment nor flows elsewhere
/// show in the result; it ends at the first whole picosecond at which its bytes have arrived, a thousandth of
/// one forgiven, and not in the moment it starts. Every component has the earliest of its ends on the agenda;
/// ends that a change has outdated are recognised when they come up. A flow over a link that is down stands
/// still until it is restored.
class FairNetwork final : public Network {
 public:
  FairNetwork(const TaskGraph& graph, Agenda& agenda, Record& record);
  void request(TaskId transfer, std::int64_t now) override;
  bool due(TaskId transfer, std::int64_t now) override;
  void settle(std::int64_t now) override;
  void report_stalled() const override;

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  struct Progress {
    TaskId task = -1;
    double left = 0;            ///< bytes, at `since`
    double rate = 0;            ///< bytes per ps
    std::int64_t since = 0;     ///< when the rate last changed
    std::int64_t end = kNever;  ///< at this rate
  };

  void flow(TaskId transfer, std::int64_t now);
  void change_rate(Progress& progress, double rate, std::int64_t now);
  void reschedule(std::span<const MaxMin::FlowId> component, std::int64_t now);

  const TaskGraph& graph_;
  Agenda& agenda_;
  Record& record_;
  MaxMin sharing_;
  std::vector<Progress> progress_;     ///< [flow]
  std::vector<std::int32_t> flow_of_;  ///< [task], or one of the two marks below
  static constexpr std::int32_t kNotYet = -1, kEnded = -2;
};

}  // namespace penstock::sim
