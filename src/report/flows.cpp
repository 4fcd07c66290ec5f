#include "flows.hpp"

#include <algorithm>
#include <tuple>

#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

using core::DeviceId;
using core::StageId;
using trace::Span;
using trace::TaskKind;

/// A stage on a device.
struct ServedStage {
  StageId stage;
  std::size_t first = 0;  ///< index of its first computation: forward passes by micro-batch, then backward
};

/// Finds computations by device, stage, direction and micro-batch.
class ComputationIndex {
 public:
  explicit ComputationIndex(const trace::Trace& trace) : trace_(trace), of_device_(trace.devices.size()) {
    for (const Span& span : trace.spans)
      if (exchanges(span.kind)) count(span);
    for (auto& stages : of_device_)
      for (ServedStage& served : stages) {
        served.first = spans_.size();
        spans_.resize(spans_.size() + 2 * count_[served.stage.index()], kNoSpan);
      }
    for (std::size_t i = 0; i < trace.spans.size(); ++i)
      if (exchanges(trace.spans[i].kind)) insert(i);
    for (const auto& stages : of_device_)
      for (const ServedStage& served : stages) number_replicas(served);
  }

  std::uint32_t sender(const Span& transfer) const {
    const ServedStage* served = find(transfer.device, transfer.stage);
    for (const bool forward : {false, true}) {
      const std::uint32_t span = served ? at(*served, forward, transfer.micro_batch) : kNoSpan;
      if (span != kNoSpan && trace_.spans[span].end <= transfer.start) return span;
    }
    return kNoSpan;
  }

  /// Computations on the peer that share samples with the sender, sorted by start.
  std::vector<std::uint32_t> receivers(const Span& sender, DeviceId peer) const {
    std::vector<std::uint32_t> out;
    const SampleRange sent = samples(*find(sender.device, sender.stage), sender.micro_batch);
    for (const ServedStage& served : of_device_[peer.index()]) {
      const std::int64_t size = micro_batch_size(served.stage);
      if (served.stage == sender.stage || size == 0) continue;
      for (std::int64_t m = sent.first / size; m * size < sent.end; ++m) {
        const SampleRange needed = samples(served, m);
        const bool meet = std::max(sent.first, needed.first) < std::min(sent.end, needed.end);
        if (const auto span = at(served, sender.kind == TaskKind::forward, m); meet && span != kNoSpan)
          out.push_back(span);
      }
    }
    std::sort(out.begin(), out.end());  // spans are sorted by start
    return out;
  }

 private:
  struct SampleRange {
    std::int64_t first, end;
  };

  /// True for computations that exchange data with other stages.
  static bool exchanges(TaskKind kind) {
    return kind == TaskKind::forward || kind == TaskKind::backward || kind == TaskKind::input_gradient;
  }

  void count(const Span& span) {
    core::require(span.device.index() < of_device_.size() && span.stage.valid() && span.micro_batch >= 0,
                  "a computation has a device of its trace, a stage and a micro-batch");
    const std::size_t stage = span.stage.index();
    if (count_.size() <= stage) count_.resize(stage + 1);
    count_[stage] = std::max(count_[stage], static_cast<std::size_t>(span.micro_batch) + 1);
    if (!find(span.device, span.stage)) of_device_[span.device.index()].push_back({span.stage, 0});
  }

  void insert(std::size_t i) {
    const Span& span = trace_.spans[i];
    const ServedStage& served = *find(span.device, span.stage);
    spans_[slot(served, span.kind == TaskKind::forward, span.micro_batch)] = static_cast<std::uint32_t>(i);
  }

  /// Numbers replicas, which may share every micro-batch or take them in turn.
  void number_replicas(const ServedStage& served) {
    const std::size_t stage = served.stage.index();
    replica_.resize(spans_.size());
    replicas_.resize(count_.size());
    replicas_[stage].resize(count_[stage]);
    for (std::size_t m = 0; m < count_[stage]; ++m)
      if (spans_[served.first + m] != kNoSpan) replica_[served.first + m] = replicas_[stage][m]++;
  }

  const ServedStage* find(DeviceId device, StageId stage) const {
    if (!device.valid() || device.index() >= of_device_.size()) return nullptr;
    for (const ServedStage& served : of_device_[device.index()])
      if (served.stage == stage) return &served;
    return nullptr;
  }

  std::size_t slot(const ServedStage& served, bool forward, std::int64_t micro_batch) const {
    const std::size_t offset = forward ? 0 : count_[served.stage.index()];
    return served.first + offset + static_cast<std::size_t>(micro_batch);
  }

  std::uint32_t at(const ServedStage& served, bool forward, std::int64_t micro_batch) const {
    if (micro_batch < 0 || micro_batch >= static_cast<std::int64_t>(count_[served.stage.index()]))
      return kNoSpan;
    return spans_[slot(served, forward, micro_batch)];
  }

  std::int64_t micro_batch_size(StageId stage) const {
    return trace_.mini_batch * trace_.mini_batches / static_cast<std::int64_t>(count_[stage.index()]);
  }

  /// A replica's share of a micro-batch, divided as in the simulator.
  SampleRange samples(const ServedStage& served, std::int64_t micro_batch) const {
    const std::int64_t size = micro_batch_size(served.stage), start = micro_batch * size;
    if (at(served, true, micro_batch) == kNoSpan) return {start, start};
    const auto m = static_cast<std::size_t>(micro_batch);
    const std::int64_t replica = replica_[served.first + m], all = replicas_[served.stage.index()][m];
    return {start + size * replica / all, start + size * (replica + 1) / all};
  }

  const trace::Trace& trace_;
  std::vector<std::vector<ServedStage>> of_device_;
  std::vector<std::size_t> count_;  ///< [stage] micro-batches
  std::vector<std::uint32_t> spans_;
  std::vector<std::int32_t> replica_;  ///< like spans_: index among the devices that share a forward pass
  std::vector<std::vector<std::int32_t>> replicas_;  ///< [stage][micro-batch] number of such devices
};

using Group = std::vector<TransferFlow*>;

/// Groups flows with a sender by sender, peer and end: those of one sender and peer are adjacent.
Group by_sender(const trace::Trace& trace, std::vector<TransferFlow>& flows) {
  Group out;
  for (TransferFlow& flow : flows)
    if (flow.sender != kNoSpan) out.push_back(&flow);
  const auto key = [&](const TransferFlow* flow) {
    const Span& transfer = trace.spans[flow->transfer];
    return std::tuple(flow->sender, transfer.peer, transfer.end, flow->transfer);
  };
  std::sort(out.begin(), out.end(),
            [&](const TransferFlow* a, const TransferFlow* b) { return key(a) < key(b); });
  return out;
}

}  // namespace

std::vector<TransferFlow> flows(const trace::Trace& trace) {
  const ComputationIndex computations(trace);
  std::vector<TransferFlow> out;
  for (std::size_t i = 0; i < trace.spans.size(); ++i)
    if (const Span& span = trace.spans[i]; span.kind == TaskKind::transfer) {
      core::require(span.peer.valid() && span.peer.index() < trace.devices.size(),
                    "a transfer leads to a device of its trace");
      out.push_back({static_cast<std::uint32_t>(i), computations.sender(span), kNoSpan});
    }
  const Group ordered = by_sender(trace, out);
  std::vector<std::uint32_t> receivers;
  std::size_t next = 0;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const Span& transfer = trace.spans[ordered[i]->transfer];
    const bool same = i > 0 && ordered[i]->sender == ordered[i - 1]->sender &&
                      transfer.peer == trace.spans[ordered[i - 1]->transfer].peer;
    if (!same) receivers = computations.receivers(trace.spans[ordered[i]->sender], transfer.peer), next = 0;
    while (next < receivers.size() && trace.spans[receivers[next]].start < transfer.end) ++next;
    if (next < receivers.size()) ordered[i]->receiver = receivers[next++];
  }
  return out;
}

}  // namespace penstock::report
