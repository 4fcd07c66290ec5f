// Collectives within passes that take links: their messages, bytes and passes.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "evidence.hpp"
#include "penstock/cost/pass_pieces.hpp"

namespace penstock::check {
namespace {

using cost::PassPieces;
using layout::GroupCollective;
using layout::GroupScope;

constexpr std::array kWaiting = {TaskKind::forward, TaskKind::recompute, TaskKind::backward,
                                 TaskKind::input_gradient, TaskKind::weight_gradient};

PassPieces::Pass pass_of(TaskKind kind) {
  using Pass = PassPieces::Pass;
  if (kind == TaskKind::forward) return Pass::forward;
  if (kind == TaskKind::recompute) return Pass::recompute;
  if (kind == TaskKind::backward) return Pass::backward;
  return kind == TaskKind::input_gradient ? Pass::input_gradient : Pass::weight_gradient;
}

/// Bytes that a collective moves among so many devices, by any algorithm, for `bytes` in all.
double moved(GroupCollective::TransferKind kind, double bytes, double devices) {
  using TransferKind = GroupCollective::TransferKind;
  if (kind == TransferKind::all_reduce) return 2 * (devices - 1) * bytes;
  return kind == TransferKind::all_gather ? (devices - 1) * bytes : (devices - 1) / devices * bytes;
}

/// Parts of a stage, by position of a device; every group lies within one part.
class DeviceParts {
 public:
  explicit DeviceParts(std::size_t devices) : part_(devices) { std::iota(part_.begin(), part_.end(), 0); }
  void join(std::size_t a, std::size_t b) { part_[of(a)] = of(b); }
  std::size_t of(std::size_t a) const {
    while (part_[a] != a) a = part_[a];
    return a;
  }

 private:
  std::vector<std::size_t> part_;
};

/// All groups of one stage.
class StageCollectives {
 public:
  StageCollectives(TraceEvidence& evidence, StageId id)
      : evidence_(evidence),
        id_(id),
        stage_(evidence.plan.stages[id.index()]),
        pieces_(evidence.problem, stage_),
        parts_(stage_.devices.size()) {
    for (std::size_t i = 0; i < stage_.devices.size(); ++i) position_[stage_.devices[i]] = i;
    for (const GroupScope among : layout::kAmong) find_groups(among);
    for (const Span& span : evidence.trace.spans)
      if (span.kind == TaskKind::collective && span.stage == id) take(span);
  }

  void check() {
    for (std::size_t i = 0; i < stage_.devices.size(); ++i)
      if (parts_.of(i) == i)
        for (const PassRun& ran : evidence_.ran[stage_.devices[i].index()])
          if (ran.span->stage == id_ && std::ranges::count(kWaiting, ran.span->kind) > 0) check_pass(i, ran);
    if (!seen_.empty())
      evidence_.violation("a group of stage {} sends {} messages outside of its passes", id_.index(),
                          seen_.begin()->second.size());
  }

 private:
  using Group = std::vector<std::size_t>;  ///< positions

  void find_groups(GroupScope among) {
    for (const auto& devices : layout::groups(stage_, among)) {
      Group& group = groups_[among].emplace_back();
      for (const DeviceId device : devices) group.push_back(position_.at(device));
      if (layout::meet(stage_, among)) bind(group);
    }
  }
  void bind(const Group& group) {
    for (const std::size_t a : group) {
      parts_.join(a, group.front());
      for (const std::size_t b : group) mates_.emplace(a, b);
    }
  }

  void take(const Span& span) {
    const auto from = position_.find(span.device), to = position_.find(span.peer);
    if (from == position_.end() || to == position_.end() || from == to ||
        !mates_.contains({from->second, to->second}))
      return evidence_.violation("a collective of stage {} leaves its group", id_.index());
    seen_[{parts_.of(from->second), span.micro_batch}].push_back(&span);
  }

  /// True if the message lies within the pass: its receiver waits for it, and its sender has begun. The
  /// sender may go on meanwhile, or before a link is free.
  bool within(const Span& message, const PassRun& pass) const {
    const auto of = [&](DeviceId device) {
      return evidence_.find(device, id_, pass.span->kind, pass.span->micro_batch);
    };
    const PassRun *sender = of(message.device), *receiver = of(message.peer);
    return sender != nullptr && receiver != nullptr && message.start >= sender->span->start &&
           message.start >= receiver->span->start && message.end <= receiver->span->end;
  }

  /// Expected bytes of all groups within one part of the stage, in a pass.
  struct ExpectedTraffic {
    double bytes = 0;
    std::size_t collectives = 0;
  };
  void add(const GroupCollective& collective, std::size_t part, ExpectedTraffic& due) const {
    for (const Group& group : groups_.at(collective.among)) {
      if (parts_.of(group.front()) != part) continue;
      std::int64_t samples = 1;
      for (const std::size_t i : group) samples = std::max(samples, evidence_.samples(id_, i));
      due.bytes += moved(collective.kind, static_cast<double>(collective.moved(samples).value()),
                         static_cast<double>(group.size()));
      ++due.collectives;
    }
  }
  ExpectedTraffic due(std::size_t part, TaskKind kind) const {
    ExpectedTraffic out;
    for (const cost::PassPiece& piece : pieces_.of(pass_of(kind), stage_.operators)) {
      if (piece.then) add(*piece.then, part, out);
      for (const auto* list : {&piece.weights, &piece.gradients})
        for (const GroupCollective& each : *list) add(each, part, out);
    }
    return out;
  }

  /// Removes the pass's messages. A pair's passes have theirs in closed form.
  void check_pass(std::size_t part, const PassRun& pass) {
    const ExpectedTraffic wanted = pass.partner == nullptr ? due(part, pass.span->kind) : ExpectedTraffic{};
    const auto found = seen_.find({part, pass.span->micro_batch});
    double sent = 0;
    std::size_t count = 0;
    if (found != seen_.end()) {
      std::vector<const Span*>& all = found->second;
      const auto rest = std::stable_partition(all.begin(), all.end(),
                                              [&](const Span* span) { return !within(*span, pass); });
      for (auto span = rest; span != all.end(); ++span) sent += static_cast<double>((*span)->bytes.value());
      count = static_cast<std::size_t>(all.end() - rest);
      all.erase(rest, all.end());
      if (all.empty()) seen_.erase(found);
    }
    // Messages may be rounded to whole bytes, and some algorithms round each message up.
    const double slack =
        1e-9 * wanted.bytes + static_cast<double>(wanted.collectives + (rounds_up() ? count : 0));
    if (std::abs(sent - wanted.bytes) > slack)
      evidence_.violation(
          "the {} of micro-batch {} on stage {} moves {:.0f} bytes in its groups where {:.0f} are due",
          name(pass.span->kind), pass.span->micro_batch, id_.index(), sent, wanted.bytes);
  }
  bool rounds_up() const {
    return evidence_.options.collective.rounds_up() || evidence_.options.collective.algorithm == nullptr;
  }

  TraceEvidence& evidence_;
  StageId id_;
  const plan::Stage& stage_;
  PassPieces pieces_;
  std::map<DeviceId, std::size_t> position_;
  std::map<GroupScope, std::vector<Group>> groups_;
  DeviceParts parts_;
  std::set<std::pair<std::size_t, std::size_t>> mates_;  ///< pairs of positions in one group
  std::map<std::pair<std::size_t, std::int32_t>, std::vector<const Span*>> seen_;  ///< {part, micro-batch}
};

}  // namespace

Picoseconds communicating(const TraceEvidence& evidence, const Span& pass) {
  const auto found = evidence.collectives.find({pass.device, pass.stage, pass.micro_batch});
  if (found == evidence.collectives.end()) return {};
  std::vector<std::pair<Picoseconds, Picoseconds>> all;
  for (const Span* span : found->second)
    if (span->start >= pass.start && span->end <= pass.end) all.emplace_back(span->start, span->end);
  std::ranges::sort(all);
  Picoseconds sum, reached;
  for (const auto& [start, end] : all) {
    if (end > reached) sum += end - std::max(start, reached);
    reached = std::max(reached, end);
  }
  return sum;
}

void check_pass_collectives(TraceEvidence& evidence) {
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s)
    if (evidence.links() && PassPieces::may_wait(evidence.plan.stages[s]))
      StageCollectives(evidence, StageId(s)).check();
  if (!evidence.links() &&
      std::ranges::any_of(evidence.trace.spans, [](const Span& s) { return s.kind == TaskKind::collective; }))
    evidence.violation("a collective within a pass takes a link");
}

}  // namespace penstock::check
