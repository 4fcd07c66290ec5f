#include "penstock/sim/traffic.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "penstock/collective/messages.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/buckets.hpp"
#include "penstock/cost/context.hpp"
#include "penstock/cost/pass_pieces.hpp"
#include "penstock/cost/shared_reduction.hpp"
#include "penstock/cost/weight_exchanges.hpp"
#include "penstock/program/messages.hpp"
#include "penstock/program/program.hpp"

namespace penstock::sim {
namespace {

using core::Bytes;
using core::DeviceId;
using core::StageId;
using layout::GroupCollective;
using layout::GroupScope;
using Pass = cost::PassPieces::Pass;
using schedule::ActionKind;

TrafficAmong among_of(GroupScope among) {
  switch (among) {
    case GroupScope::tensor:
      return TrafficAmong::tensor;
    case GroupScope::context:
      return TrafficAmong::context;
    case GroupScope::experts:
      return TrafficAmong::experts;
    case GroupScope::sharers:
    case GroupScope::expert_sharers:
      return TrafficAmong::replicas;
  }
  throw core::Error(core::ExitCode::internal, "a group of devices has no name");
}

TrafficKind kind_of(const GroupCollective& collective) {
  if (collective.kind == GroupCollective::TransferKind::all_reduce) return TrafficKind::all_reduce;
  if (collective.kind == GroupCollective::TransferKind::all_to_all) return TrafficKind::all_to_all;
  return collective.scatters ? TrafficKind::reduce_scatter : TrafficKind::all_gather;
}

TrafficKind kind_of(cost::WeightExchange::ExchangeKind kind) {
  using enum cost::WeightExchange::ExchangeKind;
  return kind == all_reduce       ? TrafficKind::all_reduce
         : kind == reduce_scatter ? TrafficKind::reduce_scatter
                                  : TrafficKind::all_gather;
}

/// Returns the least bytes that leave a device of a group of `ranks`.
Bytes sent(TrafficKind kind, std::size_t ranks, Bytes bytes) {
  if (kind == TrafficKind::send) return bytes;
  if (kind == TrafficKind::receive) return Bytes(0);
  const auto n = static_cast<std::int64_t>(ranks);
  const std::int64_t others = (bytes.value() * (n - 1) + n - 1) / n;
  return Bytes(kind == TrafficKind::all_reduce ? 2 * others : others);
}

/// Rows of one device.
class TrafficTally {
 public:
  void add(TrafficKind kind, TrafficAmong among, std::size_t ranks, Bytes each, std::int64_t times = 1) {
    if (ranks < 2 || each <= Bytes(0) || times == 0) return;
    RowSum& sum = sums_[{kind, among, ranks}];
    sum.count += times;
    sum.bytes += each * times;
    sum.sent += sent(kind, ranks, each) * times;
  }
  /// Mean over mini-batches, rounded up.
  std::vector<TrafficRow> rows(std::int64_t mini_batches) const {
    const auto mean = [&](std::int64_t all) { return (all + mini_batches - 1) / mini_batches; };
    std::vector<TrafficRow> out;
    for (const auto& [key, sum] : sums_)
      out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), mean(sum.count),
                     Bytes(mean(sum.bytes.value())), Bytes(mean(sum.sent.value()))});
    return out;
  }

 private:
  struct RowSum {
    std::int64_t count = 0;
    Bytes bytes, sent;
  };
  std::map<std::tuple<TrafficKind, TrafficAmong, std::size_t>, RowSum> sums_;
};

std::optional<Pass> pass_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return Pass::forward;
    case ActionKind::recompute:
      return Pass::recompute;
    case ActionKind::input_gradient:
      return Pass::input_gradient;
    case ActionKind::weight_gradient:
      return Pass::weight_gradient;
    case ActionKind::backward:
      return Pass::backward;
    default:
      return std::nullopt;
  }
}

/// Adds everything to the tally of the first device of each rank.
class TrafficCounter {
 public:
  TrafficCounter(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled)
      : problem_(problem),
        scheduled_(scheduled),
        program_(program::lower(problem.graph, scheduled)),
        tallies_(program_.ranks.size()) {}

  std::vector<RankTraffic> run() {
    for (std::size_t s = 0; s < program_.stages.size(); ++s) add_stage(s);
    for (const plan::StageBoundary& boundary : scheduled_.stages.boundaries()) add_messages(boundary);
    for (std::size_t k = 0; k < program_.shared.size(); ++k) add_shared(k);
    std::vector<RankTraffic> out;
    for (std::size_t r = 0; r < tallies_.size(); ++r)
      out.push_back({devices_of(r), tallies_[r].rows(mini_batches_)});
    return out;
  }

 private:
  const plan::Stage& stage(std::size_t s) const { return scheduled_.plan.stages[s]; }

  std::vector<DeviceId> devices_of(std::size_t rank) const {
    for (std::size_t s = 0; s < program_.stages.size(); ++s)
      if (program_.stages[s].rank == rank) return stage(s).devices;
    return {};
  }

  void add_stage(std::size_t s) {
    const program::StageProgram& lowered = program_.stages[s];
    mini_batches_ = std::max(mini_batches_, lowered.samples() / problem_.training.mini_batch);
    // Passes of the stage by kind, and whether its gradients are reduced.
    std::map<Pass, std::int64_t> passes;
    std::int64_t reductions = 0;
    for (const program::Instruction& each : program_.ranks[lowered.rank].row) {
      if (each.stage != StageId(s)) continue;
      if (const auto pass = pass_of(each.kind)) ++passes[*pass];
      reductions += each.kind == ActionKind::reduce_gradient && each.shared < 0;
    }
    TrafficTally& tally = tallies_[lowered.rank];
    const std::int64_t samples = std::max<std::int64_t>(1, lowered.sharing.size(0));  // as the simulator
    const cost::PassPieces pieces(problem_, stage(s));
    for (const auto& [pass, times] : passes) {
      for (const cost::PassPiece& piece : pieces.of(pass, stage(s).operators)) {
        if (piece.then) add(tally, s, *piece.then, samples, times);
        for (const GroupCollective& each : piece.weights) add(tally, s, each, samples, times);
        for (const GroupCollective& each : piece.gradients) add(tally, s, each, samples, times);
      }
      for (const GroupCollective& each : pieces.gathered_again(pass)) add(tally, s, each, samples, times);
      add_ring(tally, s, pass, samples, times);
    }
    if (reductions == 0) return;
    cost::OperatorSets sets;
    for (const cost::GradientBucket& bucket : cost::buckets(problem_, stage(s)))
      sets.push_back(bucket.operators);
    for (const cost::WeightExchange& each : cost::weight_exchanges(problem_, stage(s), sets))
      tally.add(kind_of(each.kind), each.within ? TrafficAmong::tensor : TrafficAmong::replicas,
                each.groups.front().size(), each.bytes, reductions);
  }

  void add(TrafficTally& tally, std::size_t s, const GroupCollective& collective, std::int64_t samples,
           std::int64_t times) const {
    const auto groups = layout::groups(stage(s), collective.among);
    if (groups.empty()) return;
    const auto ranks = groups.front().size();
    const TrafficKind kind = kind_of(collective);
    Bytes bytes = collective.moved(samples);
    if (kind == TrafficKind::all_to_all) bytes = Bytes(bytes.value() / static_cast<std::int64_t>(ranks));
    tally.add(kind, among_of(collective.among), ranks, bytes, times);
  }

  /// In ring attention each device passes on its neighbour's keys and values, c - 1 times per pass. In a backward
  /// pass their gradients make c hops, the last one to their owner.
  void add_ring(TrafficTally& tally, std::size_t s, Pass pass, std::int64_t samples,
                std::int64_t times) const {
    const std::int64_t c = stage(s).context_parallel;
    if (c == 1 || stage(s).context_exchange != plan::ContextExchange::ring) return;
    if (pass == Pass::weight_gradient) return;
    const bool backward = pass == Pass::backward || pass == Pass::input_gradient;
    const cost::RecomputedOps again = cost::computed_again(problem_.graph, stage(s));
    for (const core::OpId id : stage(s).operators) {
      const Bytes whole =
          layout::context_tensors(problem_.graph.op(id), problem_.graph.element_bytes()).keys_values;
      const bool repeated =
          std::ranges::binary_search(again.whole, id) || std::ranges::binary_search(again.core, id);
      if (whole == Bytes(0) || (pass == Pass::recompute && !repeated)) continue;
      const std::int64_t parts = c * stage(s).tensor_parallel;
      const Bytes block = Bytes((whole.value() * samples + parts - 1) / parts);
      for (const TrafficKind kind : {TrafficKind::send, TrafficKind::receive})
        tally.add(kind, TrafficAmong::context, 2, block, times * (backward ? 2 * c - 1 : c - 1));
    }
  }

  /// Messages of the first device of either rank.
  void add_messages(const plan::StageBoundary& boundary) {
    if (boundary.bytes == Bytes(0)) return;
    program::for_each_message(program_, boundary, [&](const program::StageMessage& message) {
      const auto device = [&](const program::MessageEnd& end) {
        return stage(end.stage.index()).devices[static_cast<std::size_t>(end.device)];
      };
      if (device(message.from) == device(message.to)) return;
      const Bytes all =
          problem_.training.compression.activation_bytes(boundary.bytes * message.samples.count);
      const Bytes part(collective::nearly_equal_part(all.value(), message.parts, message.part));
      if (message.from.device == 0)
        tallies_[rank_of(message.from)].add(TrafficKind::send, TrafficAmong::pipeline, 2, part);
      if (message.to.device == 0)
        tallies_[rank_of(message.to)].add(TrafficKind::receive, TrafficAmong::pipeline, 2, part);
    });
  }
  std::size_t rank_of(const program::MessageEnd& end) const {
    return program_.stages[end.stage.index()].rank;
  }

  /// Sums that the rows have: without a flush there are none.
  void add_shared(std::size_t index) {
    const cost::GradientReduction sum =
        cost::shared_reduction(problem_, scheduled_.plan, program_.shared[index]);
    for (std::size_t r = 0; r < tallies_.size(); ++r) {
      const auto times = std::ranges::count(program_.ranks[r].row, static_cast<std::int32_t>(index),
                                            &program::Instruction::shared);
      if (times == 0) continue;
      const DeviceId first = devices_of(r).front();
      for (const auto& group : sum.groups)
        if (std::ranges::find(group, first) != group.end())
          tallies_[r].add(TrafficKind::all_reduce, TrafficAmong::tied, group.size(), sum.bytes, times);
    }
  }

  const cost::Problem& problem_;
  const schedule::ScheduledPlan& scheduled_;
  program::Program program_;
  std::vector<TrafficTally> tallies_;  ///< [rank]
  std::int64_t mini_batches_ = 1;
};

}  // namespace

std::string_view name(TrafficKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"all-reduce", "all-gather", "reduce-scatter",
                                                      "all-to-all", "send",       "receive"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(TrafficAmong among) {
  constexpr std::array<std::string_view, 6> kNames = {"tensor",   "context", "experts",
                                                      "replicas", "tied",    "pipeline"};
  return kNames[static_cast<std::size_t>(among)];
}

std::vector<RankTraffic> traffic(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled) {
  return TrafficCounter(problem, scheduled).run();
}

}  // namespace penstock::sim
