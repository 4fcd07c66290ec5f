// Collectives of tensor-parallel groups that take links: which messages, how many bytes, within which passes.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "evidence.hpp"
#include "penstock/cost/pass_pieces.hpp"

namespace penstock::check {
namespace {

using cost::PassPieces;

constexpr std::array kWaiting = {TaskKind::forward, TaskKind::recompute, TaskKind::backward,
                                 TaskKind::input_gradient};

PassPieces::Pass pass_of(TaskKind kind) {
  if (kind == TaskKind::forward) return PassPieces::Pass::forward;
  return kind == TaskKind::recompute ? PassPieces::Pass::recompute : PassPieces::Pass::backward;
}

/// Bytes that a collective moves among so many devices, whatever the way, of `bytes` in all.
double moved(layout::GroupCollective::Kind kind, double bytes, double devices) {
  using Kind = layout::GroupCollective::Kind;
  if (kind == Kind::all_reduce) return 2 * (devices - 1) * bytes;
  return kind == Kind::all_gather ? (devices - 1) * bytes : (devices - 1) / devices * bytes;
}

/// All groups of one stage.
class StageCollectives {
 public:
  StageCollectives(Evidence& evidence, StageId id)
      : evidence_(evidence),
        id_(id),
        stage_(evidence.plan.stages[id.index()]),
        size_(static_cast<std::size_t>(stage_.tensor_parallel)) {
    for (const Span& span : evidence.trace.spans)
      if (span.kind == TaskKind::collective && span.stage == id) take(span);
  }

  void check() {
    const PassPieces pieces(evidence_.problem, stage_);
    for (std::size_t i = 0; i < stage_.devices.size(); i += size_)
      for (const Ran& ran : evidence_.ran[stage_.devices[i].index()])
        if (ran.span->stage == id_ && std::ranges::count(kWaiting, ran.span->kind) > 0)
          check_pass(pieces, i, ran);
    if (!seen_.empty())
      evidence_.violation("a group of stage {} sends {} messages outside of its passes", id_.index(),
                          seen_.begin()->second.size());
  }

 private:
  void take(const Span& span) {
    const auto from = position(span.device), to = span.peer.valid() ? position(span.peer) : from;
    if (from / size_ != to / size_ || from == to || from >= stage_.devices.size())
      return evidence_.violation("a collective of stage {} leaves its group", id_.index());
    seen_[{from / size_, span.micro_batch}].push_back(&span);
  }
  std::size_t position(DeviceId device) const {
    return static_cast<std::size_t>(std::ranges::find(stage_.devices, device) - stage_.devices.begin());
  }

  /// Its receiver waits for it. Its sender has begun; it may go on meanwhile, or before a link is free.
  bool within(const Span& message, const Ran& pass) const {
    const auto of = [&](DeviceId device) {
      return evidence_.find(device, id_, pass.span->kind, pass.span->micro_batch);
    };
    const Ran *sender = of(message.device), *receiver = of(message.peer);
    return sender != nullptr && receiver != nullptr && message.start >= sender->span->start &&
           message.start >= receiver->span->start && message.end <= receiver->span->end;
  }

  /// Takes the pass's messages away. A pair's passes have theirs in closed form.
  void check_pass(const PassPieces& pieces, std::size_t i, const Ran& pass) {
    double due = 0;
    std::size_t most = 0;
    if (pass.partner == nullptr)
      for (const auto& piece : pieces.of(pass_of(pass.span->kind), stage_.operators))
        if (piece.then) {
          const auto samples = std::max<std::int64_t>(1, evidence_.samples(id_, i));
          due += moved(piece.then->kind, static_cast<double>((piece.then->bytes * samples).value()),
                       static_cast<double>(size_));
          ++most;
        }
    const auto found = seen_.find({i / size_, pass.span->micro_batch});
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
    // Messages may be rounded to whole bytes, and some algorithms round each of theirs up.
    const double slack = 1e-9 * due + static_cast<double>(most + (rounds_up() ? count : 0));
    if (std::abs(sent - due) > slack)
      evidence_.violation(
          "the {} of micro-batch {} on stage {} moves {:.0f} bytes in its group where {:.0f} are due",
          name(pass.span->kind), pass.span->micro_batch, id_.index(), sent, due);
  }
  bool rounds_up() const {
    return evidence_.options.collective.rounds_up() || evidence_.options.collective.algorithm == nullptr;
  }

  Evidence& evidence_;
  StageId id_;
  const plan::Stage& stage_;
  std::size_t size_;
  std::map<std::pair<std::size_t, std::int32_t>, std::vector<const Span*>> seen_;  ///< {group, micro-batch}
};

}  // namespace

Picoseconds communicating(const Evidence& evidence, const Span& pass) {
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

void check_pass_collectives(Evidence& evidence) {
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s)
    if (evidence.links() && evidence.plan.stages[s].tensor_parallel > 1)
      StageCollectives(evidence, StageId(s)).check();
  if (!evidence.links() &&
      std::ranges::any_of(evidence.trace.spans, [](const Span& s) { return s.kind == TaskKind::collective; }))
    evidence.violation("a collective within a pass takes a link");
}

}  // namespace penstock::check
