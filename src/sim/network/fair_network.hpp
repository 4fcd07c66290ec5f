#pragma once
// Network whose transfers share the bandwidth of links.

#include "network/max_min.hpp"
#include "network/network.hpp"

namespace penstock::sim {

/// A ready transfer waits for its route's latency and occupies nothing; then its bytes flow at the max-min
/// fair rate. Rates change after all starts and ends of one moment. The bytes left of a flow are a double,
/// updated only when its rate changes. So the result does not depend on the order of events of one moment,
/// nor on flows elsewhere. A flow ends at the first whole picosecond at which its bytes have arrived, with a
/// tolerance of a thousandth, and not in the moment of its start. The agenda has the earliest end of every
/// component; outdated ends are recognised when they come up. A flow over a link that is down stops until the
/// link is restored.
class FairNetwork final : public TransferNetwork {
 public:
  FairNetwork(const TaskGraph& graph, EventAgenda& agenda, TaskRecorder& record);
  void request(TaskId transfer, std::int64_t now) override;
  bool due(TaskId transfer, std::int64_t now) override;
  void settle(std::int64_t now) override;
  void report_stalled() const override;

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  struct TransferProgress {
    TaskId task = -1;
    double left = 0;            ///< bytes left at `since`
    double rate = 0;            ///< bytes per ps
    std::int64_t since = 0;     ///< time of the last rate change
    std::int64_t end = kNever;  ///< end at this rate
  };

  void flow(TaskId transfer, std::int64_t now);
  void change_rate(TransferProgress& progress, double rate, std::int64_t now);
  void reschedule(std::span<const MaxMin::FlowId> component, std::int64_t now);

  const TaskGraph& graph_;
  EventAgenda& agenda_;
  TaskRecorder& record_;
  MaxMin sharing_;
  std::vector<TransferProgress> progress_;  ///< [flow]
  std::vector<std::int32_t> flow_of_;       ///< [task] flow, or one of the two marks below
  static constexpr std::int32_t kNotYet = -1, kEnded = -2;
};

}  // namespace penstock::sim
