#include <algorithm>

#include "evidence.hpp"

namespace penstock::check {
namespace {

/// Times at which a replica of a stage accepts messages. A stage that holds at most h micro-batches takes the
/// input of its j-th forward pass once its (j - h - 1)-th micro-batch is done. It takes the gradients of its
/// j-th backward pass once the (j - 2)-th has ended. Counts start from 0 in the order of the run.
class MessageGates {
 public:
  MessageGates(const TraceEvidence& evidence, DeviceId device, StageId stage) {
    std::vector<const PassRun*> forwards, backwards, done;
    std::size_t held = 0;
    for (const PassRun& pass : evidence.ran[device.index()]) {
      const Span& span = *pass.span;
      if (span.stage != stage) continue;
      if (span.kind == TaskKind::forward) forwards.push_back(&pass);
      if (span.kind == TaskKind::backward || span.kind == TaskKind::input_gradient)
        backwards.push_back(&pass);
      if (span.kind == TaskKind::backward || span.kind == TaskKind::weight_gradient) done.push_back(&pass);
      held = std::max(held, forwards.size() - std::min(forwards.size(), done.size()));
    }
    for (std::size_t j = 0; j < forwards.size(); ++j)
      open_[forwards[j]->span] =
          j > held && j - held - 1 < done.size() ? done[j - held - 1]->last : Picoseconds(0);
    for (std::size_t j = 0; j < backwards.size(); ++j)
      open_[backwards[j]->span] = j >= 2 ? backwards[j - 2]->last : Picoseconds(0);
  }
  Picoseconds open(const PassRun& pass) const { return open_.at(pass.span); }

 private:
  std::map<const Span*, Picoseconds> open_;
};

/// Key of messages that the trace cannot distinguish: they carry as many bytes of one pass between the same
/// two devices.
using Key = std::tuple<DeviceId, DeviceId, StageId, std::int32_t,
                       std::int64_t>;  ///< from, to, stage, micro-batch, bytes
struct MessageNeed {
  Picoseconds computed, open;  ///< the message may be sent once both have come
  Picoseconds used;            ///< first use by the receiving group
  const PassRun* pass;         ///< waits for the message
  Picoseconds ready() const { return std::max(computed, open); }
};
struct MatchedMessages {
  std::vector<MessageNeed> needs;
  std::vector<const Span*> sent;
};

class MessageChecker {
 public:
  explicit MessageChecker(TraceEvidence& evidence) : evidence_(evidence) {
    for (const Span* span : evidence.moved)
      if (span->kind == TaskKind::transfer)
        messages_[{span->device, span->peer, span->stage, span->micro_batch, span->bytes.value()}]
            .sent.push_back(span);
  }

  void check() {
    for (const plan::StageBoundary& boundary : evidence_.stages.boundaries()) expect(boundary);
    for (auto& [key, messages] : messages_) check(key, messages);
    if (in_order()) check_one_by_one();
  }

 private:
  bool in_order() const { return evidence_.options.message_order == sim::MessageOrder::in_order; }

  /// On one stream a device sends or receives one message at a time.
  void check_one_by_one() {
    std::map<DeviceId, std::vector<const Span*>> streams;
    for (const Span* span : evidence_.moved)
      if (span->kind == TaskKind::transfer)
        for (const DeviceId device : {span->device, span->peer}) streams[device].push_back(span);
    for (auto& [device, spans] : streams) {
      std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
        return std::pair(a->start, a->end) < std::pair(b->start, b->end);
      });
      for (std::size_t i = 1; i < spans.size(); ++i)
        if (spans[i]->start < spans[i - 1]->end)
          return evidence_.violation("device {}: two messages at a time, in order", device.index());
    }
  }

  /// Expects one message forward and one back for every overlap of a sender's and a receiver's share.
  void expect(const plan::StageBoundary& boundary) {
    const auto from = evidence_.shares(boundary.from), to = evidence_.shares(boundary.to);
    for (std::size_t x = 0, y = 0; x < from.size() && y < to.size();) {
      const std::int64_t begin = std::max(from[x].begin, to[y].begin), end = std::min(from[x].end, to[y].end);
      if (begin < end) {
        const Bytes bytes =
            evidence_.problem.training.compression.activation_bytes(evidence_.sent(boundary, begin, end));
        expect({boundary.from, from[x]}, {boundary.to, to[y]}, &TraceEvidence::forward, bytes);
        expect({boundary.to, to[y]}, {boundary.from, from[x]}, &TraceEvidence::backward, bytes);
      }
      from[x].end < to[y].end ? ++x : ++y;
    }
  }

  using Side = std::pair<StageId, ReplicaShare>;
  using PassOf = const PassRun* (TraceEvidence::*)(DeviceId, StageId, std::int32_t) const;
  /// Expects one part per device of the larger group. A receiver needs all of them before its pass, because
  /// the devices of a group start together only if they have a pass before.
  void expect(const Side& from, const Side& to, PassOf pass_of, Bytes bytes) {
    const auto &sends = from.second.group, &receives = to.second.group;
    const std::size_t parts = std::max(sends.size(), receives.size());
    for (std::size_t i = 0; i < parts; ++i) {
      const auto n = static_cast<std::int64_t>(parts), at = static_cast<std::int64_t>(i);
      const std::int64_t part = bytes.value() / n + (at < bytes.value() % n ? 1 : 0);
      expect_part(from, to, pass_of, part, sends[i % sends.size()], receives[i % receives.size()]);
    }
  }
  void expect_part(const Side& from, const Side& to, PassOf pass_of, std::int64_t bytes, DeviceId sender,
                   DeviceId receiver) {
    const PassRun* computes = (evidence_.*pass_of)(sender, from.first, from.second.micro_batch);
    if (!computes) return evidence_.violation("stage {}: the order lacks a pass", from.first.index());
    Picoseconds first(INT64_MAX);  // first of the group's passes that wait
    for (const DeviceId device : to.second.group) {
      const PassRun* waits = (evidence_.*pass_of)(device, to.first, to.second.micro_batch);
      if (!waits) return evidence_.violation("stage {}: the order lacks a pass", to.first.index());
      first = std::min(first, begin_of(*waits, device, to.first, to.second.micro_batch));
    }
    const PassRun* waits = (evidence_.*pass_of)(receiver, to.first, to.second.micro_batch);
    if (bytes == 0 || sender == receiver) {  // nothing moves
      if (first < computes->last)
        evidence_.violation("device {} starts a {} pass before device {} is done", receiver.index(),
                            name(waits->span->kind), sender.index());
      return;
    }
    messages_[{sender, receiver, from.first, from.second.micro_batch, bytes}].needs.push_back(
        {computes->last, gates(receiver, to.first).open(*waits), first, waits});
  }

  /// Begin of a pass, or of the late recomputation before it.
  Picoseconds begin_of(const PassRun& pass, DeviceId device, StageId stage, std::int32_t micro_batch) const {
    if (pass.span->kind == TaskKind::forward || evidence_.plan.stages[stage.index()].recompute.early)
      return pass.first;
    const PassRun* again = evidence_.find(device, stage, TaskKind::recompute, micro_batch);
    return again ? again->first : pass.first;
  }

  const MessageGates& gates(DeviceId device, StageId stage) {
    const auto found = gates_.find({device, stage});
    if (found != gates_.end()) return found->second;
    return gates_.emplace(std::pair(device, stage), MessageGates(evidence_, device, stage)).first->second;
  }

  /// The messages have one route, so they start in the order in which they may.
  void check(const Key& key, MatchedMessages& messages) {
    const auto& [from, to, stage, micro_batch, bytes] = key;
    const std::string what = fmt::format("device {} to {}, micro-batch {}, {} bytes", from.index(),
                                         to.index(), micro_batch, bytes);
    if (messages.sent.size() != messages.needs.size())
      return evidence_.violation("{}: {} messages where {} are needed", what, messages.sent.size(),
                                 messages.needs.size());
    std::stable_sort(messages.needs.begin(), messages.needs.end(),
                     [](const MessageNeed& a, const MessageNeed& b) { return a.ready() < b.ready(); });
    std::stable_sort(messages.sent.begin(), messages.sent.end(),
                     [](const Span* a, const Span* b) { return a->start < b->start; });
    for (std::size_t i = 0; i < messages.sent.size(); ++i) check(what, *messages.sent[i], messages.needs[i]);
  }

  void check(const std::string& what, const Span& sent, const MessageNeed& need) {
    if (sent.start < need.computed)
      evidence_.violation("{}: sent before it is computed", what);
    else if (sent.start < need.open && !in_order())
      evidence_.violation("{}: sent before its receiver has room", what);
    if (sent.end > need.used) evidence_.violation("{}: arrives after it is used", what);
    const core::Seconds alone = evidence_.problem.cluster.route(sent.device, sent.peer).time(sent.bytes);
    if (evidence_.steady_messages() && sent.end - sent.start + Picoseconds(1) < core::to_picoseconds(alone))
      evidence_.violation("{}: faster than its route", what);
    Picoseconds& arrival = evidence_.arrival.try_emplace(need.pass->span, sent.start).first->second;
    arrival = std::min(arrival, sent.start);
  }

  TraceEvidence& evidence_;
  std::map<Key, MatchedMessages> messages_;
  std::map<std::pair<DeviceId, StageId>, MessageGates> gates_;
};

}  // namespace

void check_messages(TraceEvidence& evidence) {
  MessageChecker(evidence).check();
}

}  // namespace penstock::check
