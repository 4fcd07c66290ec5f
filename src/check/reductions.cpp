#include <algorithm>
#include <cmath>
#include <numeric>

#include "evidence.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::check {
namespace {

/// One all-reduce, or gather: a bucket of a stage's gradients, or a part of it, of one mini-batch.
struct BucketReduction {
  StageId stage;
  std::size_t after, step;  ///< positions in the row
  std::size_t bucket, buckets;
  std::size_t number;              ///< among those of its stage
  cost::GradientReduction moves;   ///< bytes and groups
  std::vector<const Span*> spans;  ///< its messages, or in closed form one span per replica
};

/// All reductions of one device set, in the order of its row.
class RankReductions {
 public:
  RankReductions(TraceEvidence& evidence, std::size_t rank)
      : evidence_(evidence),
        rank_(rank),
        group_(evidence.devices(rank)),
        asked_(evidence.asked.at({rank, 0})),
        travels_(evidence.options.collective.travels()) {
    std::map<StageId, std::size_t> count;
    for (const DeviceTasks::ScheduledReduction& reduction : asked_.reductions) {
      cost::OperatorSets buckets = evidence.buckets(reduction.stage);
      for (auto& operators : buckets) operators = plan::unshared(operators, evidence.shared);
      const auto pieces =
          cost::reductions(evidence.problem, evidence.plan.stages[reduction.stage.index()], buckets);
      for (std::size_t b = 0; b < buckets.size(); ++b) {
        for (const cost::GradientReduction& moves : pieces[b])
          reductions_.push_back({reduction.stage,
                                 reduction.after,
                                 reduction.step,
                                 b,
                                 buckets.size(),
                                 count[reduction.stage]++,
                                 moves,
                                 {}});
      }
    }
    for (const Span& span : evidence.trace.spans)
      if (span.kind == TaskKind::all_reduce && !span.shared &&
          evidence.order.rank_of_stage[span.stage.index()] == static_cast<int>(rank))
        seen_[span.stage].push_back(&span);
    for (auto& [stage, spans] : seen_)
      std::stable_sort(spans.begin(), spans.end(),
                       [](const Span* a, const Span* b) { return a->start < b->start; });
  }

  void check() {
    for (const auto& [stage, spans] : seen_)
      if (!members(spans))
        return evidence_.violation("an all-reduce of stage {} leaves its replicas", stage.index());
    for (const StageId stage : stages())
      if (!(travels_ ? deal_messages(stage) : deal_spans(stage))) return;
    std::vector<Picoseconds> reduced(group_.size());  // [replica] end of the reduction before
    for (BucketReduction& reduction : reductions_) {
      if (reduction.spans.empty()) continue;
      for (std::size_t a = 0; a < group_.size(); ++a) check_start(reduction, a, reduced[a]);
      travels_ ? check_messages(reduction) : check_closed(reduction);
      for (std::size_t a = 0; a < group_.size(); ++a) reduced[a] = std::max(reduced[a], end(reduction, a));
      check_step(reduction);
    }
  }

 private:
  std::vector<StageId> stages() const {
    std::vector<StageId> out;
    for (std::size_t s = 0; s < evidence_.plan.stages.size(); ++s)
      if (evidence_.order.rank_of_stage[s] == static_cast<int>(rank_)) out.emplace_back(s);
    return out;
  }
  bool inside(DeviceId device) const {
    return std::find(group_.begin(), group_.end(), device) != group_.end();
  }
  bool members(const std::vector<const Span*>& spans) const {
    return travels_ ? std::all_of(spans.begin(), spans.end(),
                                  [&](const Span* s) {
                                    return inside(s->device) && s->peer.valid() && inside(s->peer);
                                  })
                    : true;
  }
  std::vector<BucketReduction*> of(StageId stage) {
    std::vector<BucketReduction*> out;
    for (BucketReduction& reduction : reductions_)
      if (reduction.stage == stage) out.push_back(&reduction);
    return out;
  }
  static Bytes sum(const std::vector<BucketReduction*>& reductions) {
    return std::accumulate(reductions.begin(), reductions.end(), Bytes(),
                           [](Bytes s, const BucketReduction* r) { return s + r->moves.bytes; });
  }

  /// In closed form every replica has a span for every all-reduce.
  bool deal_spans(StageId stage) {
    const auto reductions = of(stage);
    for (const DeviceId device : group_) {
      std::vector<const Span*> mine;
      for (const Span* span : seen_[stage])
        if (span->device == device && !span->peer.valid()) mine.push_back(span);
      const Bytes found = std::accumulate(mine.begin(), mine.end(), Bytes(),
                                          [](Bytes s, const Span* span) { return s + span->bytes; });
      if (found != sum(reductions) || mine.size() != reductions.size()) {
        evidence_.violation("device {} reduces {} bytes of {}", device.index(), found.value(),
                            sum(reductions).value());
        return false;
      }
      for (std::size_t k = 0; k < mine.size(); ++k) reductions[k]->spans.push_back(mine[k]);
    }
    if (seen_[stage].size() != group_.size() * reductions.size()) {
      evidence_.violation("stage {} reduces on {} devices", stage.index(), seen_[stage].size());
      return false;
    }
    return true;
  }

  /// The messages between two replicas follow each other, and every all-reduce of a stage has as many of
  /// them. If each may use its own algorithm or its own groups, that is unknown, and only the sum of bytes is
  /// known.
  bool deal_messages(StageId stage) {
    const auto reductions = of(stage);
    if (!check_bytes(stage, reductions)) return false;
    if (reductions.empty()) return true;
    const bool one_way = evidence_.options.collective.by != sim::ReductionMethod::MethodKind::cheapest ||
                         reductions.front()->buckets == 1;
    const bool alike =
        one_way && std::all_of(reductions.begin(), reductions.end(), [&](const BucketReduction* reduction) {
          return reduction->moves.groups == reductions.front()->moves.groups;
        });
    if (!alike) return true;
    std::map<std::pair<DeviceId, DeviceId>, std::vector<const Span*>> between;
    for (const Span* span : seen_[stage]) between[{span->device, span->peer}].push_back(span);
    for (const auto& [ends, spans] : between) {
      if (spans.size() % reductions.size() != 0) {
        evidence_.violation("stage {}: {} messages from device {} to {} in {} all-reduces", stage.index(),
                            spans.size(), ends.first.index(), ends.second.index(), reductions.size());
        return false;
      }
      const std::size_t each = spans.size() / reductions.size();
      for (std::size_t i = 0; i < spans.size(); ++i) reductions[i / each]->spans.push_back(spans[i]);
    }
    return true;
  }

  /// With any algorithm 2(r - 1) times the gradients move in each group, and half of that if they are
  /// gathered. Halving rounds each of its messages up.
  bool check_bytes(StageId stage, const std::vector<BucketReduction*>& reductions) {
    std::int64_t moved = 0;
    for (const Span* span : seen_[stage]) moved += span->bytes.value();
    std::int64_t least = 0;
    for (const BucketReduction* reduction : reductions)
      for (const auto& group : reduction->moves.groups)
        least += (reduction->moves.all_gather ? 1 : 2) * (static_cast<std::int64_t>(group.size()) - 1) *
                 reduction->moves.bytes.value();
    const bool rounds = evidence_.options.collective.rounds_up();
    const auto most = least + (rounds ? static_cast<std::int64_t>(seen_[stage].size()) : 0);
    if (moved >= least && moved <= most) return true;
    evidence_.violation("the all-reduces of stage {} move {} bytes where {} are due", stage.index(), moved,
                        least);
    return false;
  }

  static bool stays(const std::vector<const Span*>& messages, const std::vector<DeviceId>& group) {
    return std::all_of(messages.begin(), messages.end(), [&](const Span* s) {
      return std::find(group.begin(), group.end(), s->peer) != group.end();
    });
  }

  const PassRun& pass(std::size_t replica, std::size_t position) const {
    return evidence_.ran[group_[replica].index()][position];
  }

  /// Time at which a replica has the gradients. A last pass that is cut has those of early buckets before it
  /// ends.
  Picoseconds computed(const BucketReduction& reduction, std::size_t replica) const {
    const Span& span = *pass(replica, reduction.after).span;
    const auto& last = asked_.passes[reduction.after];
    const bool cut = reduction.buckets > 1 && last.stage == reduction.stage && !last.joined;
    if (!cut || reduction.bucket + 1 == reduction.buckets) return span.end;
    return evidence_.perfect() && !evidence_.links() ? span.start + pieces(reduction, span, replica)
                                                     : span.start;
  }
  Picoseconds pieces(const BucketReduction& reduction, const Span& span, std::size_t replica) const {
    const auto& times = evidence_.pieces(reduction.stage, replica, span.micro_batch, true);
    Picoseconds out;
    for (std::size_t b = 0; b <= reduction.bucket; ++b)
      out += core::to_picoseconds(span.kind == TaskKind::weight_gradient ? times[b].weight_gradient
                                                                         : times[b].backward());
    return out;
  }

  /// No replica takes part before the all-reduce before is done and its own gradients are there; in closed
  /// form the gradients of all must be there.
  void check_start(const BucketReduction& reduction, std::size_t replica, Picoseconds before) {
    const DeviceId device = group_[replica];
    Picoseconds first(INT64_MAX);
    for (const Span* span : reduction.spans)
      if (span->device == device || span->peer == device) first = std::min(first, span->start);
    Picoseconds ready = computed(reduction, replica);
    for (std::size_t a = 0; !travels_ && a < group_.size(); ++a)
      ready = std::max(ready, computed(reduction, a));
    if (first < ready)
      evidence_.violation("device {} reduces gradients that are still computed", device.index());
    else if (first < before)
      evidence_.violation("device {} reduces stage {} before it is done with the all-reduce before",
                          device.index(), reduction.stage.index());
  }

  void check_messages(BucketReduction& reduction) {
    std::stable_sort(reduction.spans.begin(), reduction.spans.end(), [](const Span* a, const Span* b) {
      return std::tie(a->start, a->end) < std::tie(b->start, b->end);
    });
    for (const auto& group : reduction.moves.groups) {
      std::vector<const Span*> own;
      for (const Span* span : reduction.spans)
        if (std::find(group.begin(), group.end(), span->device) != group.end()) own.push_back(span);
      if (own.empty() || !stays(own, group) || !reaches_all(own, group))
        return evidence_.violation("all-reduce {} of stage {} does not bring all gradients to all replicas",
                                   reduction.number, reduction.stage.index());
    }
  }

  void check_closed(const BucketReduction& reduction) {
    const Span& one = *reduction.spans.front();
    for (const Span* span : reduction.spans)
      if (span->start != one.start || span->end != one.end || span->bytes != reduction.moves.bytes)
        return evidence_.violation("all-reduce {} of stage {} is not one", reduction.number,
                                   reduction.stage.index());
    const auto exact = core::to_picoseconds(cost::time(evidence_.problem, reduction.moves));
    if (evidence_.steady_messages() && std::abs((one.end - one.start - exact).value()) > 1)
      evidence_.violation("all-reduce {} of stage {} takes {} ps where {} are due", reduction.number,
                          reduction.stage.index(), (one.end - one.start).value(), exact.value());
  }

  /// Time at which a replica has the result.
  Picoseconds end(const BucketReduction& reduction, std::size_t replica) const {
    Picoseconds out;
    for (const Span* span : reduction.spans)
      if (!travels_ || span->peer == group_[replica]) out = std::max(out, span->end);
    return out;
  }

  void check_step(const BucketReduction& reduction) {
    if (reduction.step == 0) return;
    for (std::size_t a = 0; a < group_.size(); ++a)
      if (pass(a, reduction.step).span->start < end(reduction, a))
        evidence_.violation("device {} updates stage {} before its gradients are reduced", group_[a].index(),
                            reduction.stage.index());
  }

  TraceEvidence& evidence_;
  std::size_t rank_;
  const std::vector<DeviceId>& group_;
  const DeviceTasks& asked_;
  bool travels_;
  std::vector<BucketReduction> reductions_;
  std::map<StageId, std::vector<const Span*>> seen_;  ///< by start
};

}  // namespace

bool reaches_all(const std::vector<const Span*>& messages, const std::vector<DeviceId>& group) {
  const auto member = [&](DeviceId d) {
    return static_cast<std::size_t>(std::find(group.begin(), group.end(), d) - group.begin());
  };
  std::vector<const Span*> by_end = messages;
  std::stable_sort(by_end.begin(), by_end.end(),
                   [](const Span* a, const Span* b) { return a->end < b->end; });
  std::map<const Span*, std::vector<bool>> carried;
  std::vector<std::vector<bool>> known;
  for (bool more = true; more;) {  // messages without duration may depend on each other
    more = false;
    known.assign(group.size(), std::vector<bool>(group.size(), false));
    for (std::size_t m = 0; m < group.size(); ++m) known[m][m] = true;
    std::size_t arrived = 0;
    const auto arrive = [&](Picoseconds until) {
      for (; arrived < by_end.size() && by_end[arrived]->end <= until; ++arrived) {
        const auto& brings = carried[by_end[arrived]];
        auto& at = known[member(by_end[arrived]->peer)];
        for (std::size_t m = 0; m < brings.size(); ++m) at[m] = at[m] || brings[m];
      }
    };
    for (const Span* message : messages) {  // by start
      arrive(message->start);
      auto& carries = carried[message];
      if (carries != known[member(message->device)]) carries = known[member(message->device)], more = true;
    }
    arrive(by_end.back()->end);
  }
  return std::all_of(known.begin(), known.end(),
                     [](const auto& k) { return std::find(k.begin(), k.end(), false) == k.end(); });
}

void check_reductions(TraceEvidence& evidence) {
  for (std::size_t r = 0; r < evidence.ranks(); ++r) RankReductions(evidence, r).check();
}

}  // namespace penstock::check
