#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "add_weights.hpp"
#include "divide_activations.hpp"
#include "group_collectives.hpp"
#include "group_memo.hpp"
#include "penstock/cost/backward_sweep.hpp"
#include "penstock/cost/matrix_step.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/in_place.hpp"
#include "penstock/graph/ties.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/plan/mesh.hpp"
#include "quantized.hpp"
#include "split_release.hpp"
#include "step_memory.hpp"
#include "weight_parts.hpp"
#include "zero_collectives.hpp"
#include "zero_overlap.hpp"
#include "zero_traffic.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::DeviceId;
using core::OpId;
using core::Seconds;
using graph::OpKind;
using plan::Partition;
using Devices = std::vector<DeviceId>;

bool contains(const std::vector<OpId>& ascending, OpId id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

/// Operators of all segments, ascending.
std::vector<OpId> all_of(const std::vector<std::vector<OpId>>& segments) {
  std::vector<OpId> out;
  for (const auto& segment : segments) out.insert(out.end(), segment.begin(), segment.end());
  std::sort(out.begin(), out.end());
  return out;
}

void add(OpTime& sum, const OpTime& time) {
  sum.forward += time.forward;
  sum.input_gradient += time.input_gradient;
  sum.weight_gradient += time.weight_gradient;
  sum.recompute += time.recompute;
}

OpTime compute_on(const Problem& problem, const plan::Stage& stage, std::span<const OpId> operators,
                  const std::map<OpId, Partition>& how, const cluster::DeviceType& type, std::size_t member,
                  const RecomputedOps& again, std::int64_t samples) {
  OpTime sum;
  for (const OpId id : operators) {
    const OpShard mine = op_shard(problem.graph.op(id), partition_of(how, id), part_of(stage, member));
    OpTime time = operator_time(problem, id, type, samples, mine);
    if (contains(again.whole, id)) time.recompute = time.forward;
    if (contains(again.core, id)) time.recompute = core_forward(problem, id, type, samples, mine);
    add(sum, time);
  }
  return sum;
}

OpTime slower(const OpTime& a, const OpTime& b) {
  return {std::max(a.forward, b.forward), std::max(a.input_gradient, b.input_gradient),
          std::max(a.weight_gradient, b.weight_gradient), std::max(a.recompute, b.recompute)};
}

/// True if the sum of a row-parallel layer's partial outputs stays beside what its function makes of it. It
/// stays if no device can compute it again and the function's gradient needs it.
bool keeps_sum(const graph::Operator& op, Partition how) {
  const graph::Function function = as<graph::Linear>(op).function;
  return layout::rule(op, how).partial_output && function != graph::Function::none &&
         !graph::follows_from_output(function);
}

/// True for mixtures divided by columns: a part of every expert reads whole rows.
bool copies_whole_rows(const graph::Operator& op, Partition how) {
  return op.kind == OpKind::experts && how == Partition::column;
}

/// Bytes of the rows that experts copy, as they save them: in the format of their products.
Bytes saved_rows(const graph::Operator& op, int element_bytes) {
  const Bytes rows = layout::copied_rows(op, element_bytes);
  return op.products == graph::ProductFormat::stored
             ? rows
             : graph::quantized_bytes(op.products, rows.value() / element_bytes);
}

/// `cut` takes a device's part of bytes, or all of them.
template <class Cut>
BackwardStep divided_step(BackwardStep step, const graph::Operator& op, Partition how, const OpShard& mine,
                          bool holds_whole, const Cut& cut) {
  const bool whole = how == Partition::whole, rows = whole || copies_whole_rows(op, how),
             all_weights = how != Partition::column && how != Partition::row;
  step.gradient = cut(step.gradient, holds_whole);
  step.terms = cut(step.terms, mine.whole_input);
  step.fresh = cut(step.fresh, all_weights);
  for (MemoryLine* line : {&step.scratch.input_gradient, &step.scratch.weight_gradient})
    *line = {cut(line->fixed, rows), cut(line->each, rows)};
  step.scratch.handed = {cut(step.scratch.handed.fixed, whole), cut(step.scratch.handed.each, whole)};
  return step;
}

/// Sequence parallelism: a stage input stays sharded by tokens unless an operator needs it otherwise; outputs
/// are sharded by tokens.
template <class Whole, class Cut>
void divide_boundaries(StageLoad& load, const graph::OpGraph& graph, const plan::Stage& stage,
                       const std::map<OpId, Partition>& how, const Whole& holds_whole, const Cut& cut) {
  std::map<OpId, bool> inputs;  // whether someone needs it otherwise
  load.outputs = Bytes(0);
  for (const OpId id : stage.operators) {
    for (const graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
      if (const OpId producer(static_cast<std::size_t>(v)); !how.contains(producer))
        inputs[producer] |=
            layout::stage_rule(graph.op(id), how.at(id), stage).reads != layout::Placement::shard_tokens;
    const auto readers = graph.dag().successors(static_cast<graph::Vertex>(id.index()));
    if (std::ranges::any_of(
            readers, [&](graph::Vertex v) { return !how.contains(OpId(static_cast<std::size_t>(v))); }))
      load.outputs += cut(graph.op(id).output_bytes, holds_whole(id));
  }
  load.inputs = Bytes(0);
  for (const auto& [producer, whole] : inputs) load.inputs += cut(graph.op(producer).output_bytes, whole);
}

}  // namespace

RecomputedOps computed_again(const graph::OpGraph& graph, const plan::Stage& stage) {
  return {all_of(plan::segments(graph, stage.operators, stage.recompute)),
          plan::inner_cores(graph, stage.operators, stage.recompute)};
}

void CollectiveKinds::add(layout::GroupCollective::TransferKind kind) {
  using TransferKind = layout::GroupCollective::TransferKind;
  all_reduce = all_reduce || kind == TransferKind::all_reduce;
  all_gather = all_gather || kind == TransferKind::all_gather;
  all_to_all = all_to_all || kind == TransferKind::all_to_all;
}

GroupTimes::GroupTimes(const cluster::Cluster& cluster, const Groups& groups, CollectiveKinds kinds) {
  if (kinds.all_reduce) all_reduce_ = all_reduce(cluster, groups);
  if (kinds.all_gather) all_gather_ = all_gather(cluster, groups);
  if (!kinds.all_to_all) return;
  all_to_all_ = all_to_all(cluster, groups);
  measured_all_to_all_ = measured(cluster, groups, cluster::CollectiveKind::all_to_all);
}

/// Bytes of an all-to-all are those of all devices, measured times go by those of one.
GroupTimes::MeasuredQuery GroupTimes::asked(const layout::GroupCollective& collective,
                                            std::int64_t samples) const {
  using TransferKind = layout::GroupCollective::TransferKind;
  const Bytes bytes = collective.moved(samples);
  if (collective.kind == TransferKind::all_reduce) return {all_reduce_.measured, bytes};
  if (collective.kind == TransferKind::all_gather) return {all_gather_.measured, bytes};
  return {measured_all_to_all_, Bytes(bytes.value() / std::max<std::int64_t>(1, measured_all_to_all_.ranks))};
}

TimeOrigin GroupTimes::origin(const layout::GroupCollective& collective, std::int64_t samples) const {
  const MeasuredQuery here = asked(collective, samples);
  const auto found = here.measured.find(here.bytes);
  return found ? static_cast<TimeOrigin>(found->reach) : TimeOrigin::analytic;  // they share their order
}

Seconds GroupTimes::time(const layout::GroupCollective& collective, std::int64_t samples) const {
  const Bytes bytes = collective.moved(samples);
  if (collective.kind == layout::GroupCollective::TransferKind::all_reduce) return all_reduce_.time(bytes);
  if (collective.kind == layout::GroupCollective::TransferKind::all_gather) return all_gather_.time(bytes);
  const MeasuredQuery all_to_all_asked = asked(collective, samples);
  const auto found = all_to_all_asked.measured.find(all_to_all_asked.bytes);
  return found ? found->time : Seconds(all_to_all_.at(bytes));
}

OpTime StageTime::total() const {
  return {compute.forward + collectives.forward, compute.input_gradient + collectives.input_gradient,
          compute.weight_gradient + collectives.weight_gradient, compute.recompute + collectives.recompute};
}

ReplicaTimes::ReplicaTimes(const Problem& problem, const plan::Stage& stage, std::span<const OpId> operators)
    : ReplicaTimes(problem, stage, OperatorSets{{operators.begin(), operators.end()}}) {}

ReplicaTimes::ReplicaTimes(const Problem& problem, const plan::Stage& stage, OperatorSets sets,
                           CountedWaits waits)
    : whole_(problem),
      local_(problem, stage),
      stage_(stage),
      again_(computed_again(problem.graph, stage)),
      waits_(waits) {
  for (auto& operators : sets) parts_.push_back({std::move(operators), {}, {}, {}});
  if (stage.tensor_parallel > 1) how_ = partitions(stage, layout::infer(local_.get().graph, stage));
  if (stage.context_parallel > 1 && stage.context_exchange == plan::ContextExchange::ring)
    ring_.emplace(problem.cluster, stage);
  if (waits == CountedWaits::ring) return;
  deal_collectives();
  for (const auto& [among, kinds] : kinds_)
    if (among != layout::GroupScope::tensor)
      together_.emplace(among, group_times(problem, layout::groups(stage, among), kinds));
  SentByZero sent(problem, local_.get(), stage);
  for (SetTraffic& part : parts_) part.zero = sent.of(part.operators, how_, again_);
}

/// To the sets that their operators are in.
void ReplicaTimes::deal_collectives() {
  const layout::GroupCollectives all = group_collectives(whole_, problem(), stage_, how_);
  std::map<OpId, std::vector<std::size_t>> asked;  // the sets that an operator is in
  for (std::size_t p = 0; p < parts_.size(); ++p)
    for (const OpId id : parts_[p].operators) asked[id].push_back(p);
  const auto deal = [&](const std::vector<layout::GroupCollective>& some,
                        std::vector<layout::GroupCollective> SetTraffic::*list) {
    for (const layout::GroupCollective& c : some) {
      const auto found = asked.find(c.op);
      if (found == asked.end()) continue;
      for (const std::size_t p : found->second) (parts_[p].*list).push_back(c);
      kinds_.try_emplace(c.among, CollectiveKinds{false, false, false}).first->second.add(c.kind);
    }
  };
  deal(all.forward, &SetTraffic::forward);
  deal(all.backward, &SetTraffic::backward);
}

/// On the slowest device of the replica, and what it waits for of other tokens.
StageTime ReplicaTimes::compute(const SetTraffic& part, std::size_t replica, std::int64_t samples) const {
  const auto group = plan::Mesh(stage_).replica(replica);
  StageTime out;
  std::set<std::pair<std::size_t, double>> seen;  // device types and parts so far
  for (std::size_t d = 0; d < group.size(); ++d) {
    const cluster::DeviceType& type = problem().cluster.type(group[d]);
    const std::size_t m = plan::Mesh(stage_).coordinate(d, plan::MeshDim::tensor);
    if (!seen.insert({problem().cluster.devices()[group[d].index()].type, part_of(stage_, m)}).second)
      continue;
    out.compute =
        slower(out.compute, compute_on(problem(), stage_, part.operators, how_, type, m, again_, samples));
  }
  if (ring_) out.collectives = ring_time(part, group, samples);
  return out;
}

OpTime ReplicaTimes::collectives_of(const SetTraffic& part, const CollectiveSetting& who) const {
  OpTime out;
  const auto launched = [&](const layout::GroupCollective& c) {
    return std::max(who.group.time(c, who.samples), who.launch);
  };
  for (const layout::GroupCollective& c : part.forward) {
    if (c.among != who.among) continue;
    out.forward += launched(c);
    if (contains(again_.whole, c.op)) out.recompute += launched(c);
  }
  for (const layout::GroupCollective& c : part.backward)
    if (c.among == who.among) out.input_gradient += launched(c);
  return out;
}

/// Times by kind of group: a cluster has few kinds.
const std::vector<OpTime>& ReplicaTimes::collective_times(const CollectiveSetting& who) {
  for (const auto& [known, times] : known_collectives_)
    if (known == who) return times;
  std::vector<OpTime> times;
  for (const SetTraffic& part : parts_) times.push_back(collectives_of(part, who));
  return known_collectives_.emplace_back(who, std::move(times)).second;
}

/// Host time of the slowest device.
Seconds ReplicaTimes::launch_of(std::span<const DeviceId> replica) const {
  Seconds out;
  for (const DeviceId d : replica) out = std::max(out, problem().cluster.type(d).host().one_kernel());
  return out;
}

/// Adds the slowest of the replica's tensor-parallel groups, and all groups of other kinds.
void ReplicaTimes::add_group_collectives(std::span<const DeviceId> replica, std::int64_t samples,
                                         std::vector<StageTime>& out) {
  const Seconds launch = launch_of(replica);
  if (const auto kinds = kinds_.find(layout::GroupScope::tensor); kinds != kinds_.end()) {
    const auto size = static_cast<std::size_t>(stage_.tensor_parallel);
    std::vector<OpTime> slowest(out.size());
    for (std::size_t first = 0; first < replica.size(); first += size) {
      const GroupTimes group(problem().cluster, replica.subspan(first, size), kinds->second);
      const auto& collectives = collective_times({layout::GroupScope::tensor, group, samples, launch});
      for (std::size_t p = 0; p < out.size(); ++p) slowest[p] = slower(slowest[p], collectives[p]);
    }
    for (std::size_t p = 0; p < out.size(); ++p) add(out[p].collectives, slowest[p]);
  }
  for (const auto& [among, groups] : together_) {
    const auto& collectives = collective_times({among, groups, samples, launch});
    for (std::size_t p = 0; p < out.size(); ++p) add(out[p].collectives, collectives[p]);
  }
}

/// Bytes of all samples, on the tensor-parallel member with the largest part.
Bytes of_member(Bytes each, Partition how, double part, std::int64_t samples) {
  if (how == Partition::batch) return each * samples_of(samples, part);
  return how == Partition::whole ? each * samples : rounded_up(each * samples, part);
}

Seconds ReplicaTimes::slowest_core(OpId id, Partition how, std::span<const DeviceId> replica,
                                   std::int64_t samples) const {
  Seconds out;
  std::set<std::pair<std::size_t, double>> seen;  // device types and parts so far
  for (std::size_t d = 0; d < replica.size(); ++d) {
    const double part = part_of(stage_, plan::Mesh(stage_).coordinate(d, plan::MeshDim::tensor));
    if (!seen.insert({problem().cluster.devices()[replica[d].index()].type, part}).second) continue;
    out = std::max(out, core_forward(problem(), id, problem().cluster.type(replica[d]), samples,
                                     op_shard(problem().graph.op(id), how, part)));
  }
  return out;
}

/// Whole recomputation, and that of a core, go round again.
OpTime ReplicaTimes::ring_time(const SetTraffic& part, std::span<const DeviceId> replica,
                               std::int64_t samples) const {
  constexpr double kBackward = 2;  // a gradient for each of a product's factors
  OpTime out;
  for (const OpId id : part.operators) {
    if (!graph::has_core(problem().graph.op(id))) continue;
    const Partition how = partition_of(how_, id);
    const Seconds core = slowest_core(id, how, replica, samples);
    const auto tensors = layout::context_tensors(whole_.graph.op(id), whole_.graph.element_bytes());
    OpTime time = ring_->time(of_member(tensors.keys_values, how, largest_part(stage_), samples), core,
                              core * kBackward, launch_of(replica));
    if (contains(again_.whole, id) || contains(again_.core, id)) time.recompute = time.forward;
    add(out, time);
  }
  return out;
}

std::vector<StageTime> ReplicaTimes::times(std::size_t replica, std::int64_t samples) {
  const auto group = plan::Mesh(stage_).replica(replica);
  Alike alike{{}, samples};
  for (const DeviceId d : group) alike.first.push_back(problem().cluster.devices()[d.index()].type);
  const auto [known, fresh] = computed_.try_emplace(std::move(alike));
  if (fresh)
    for (const SetTraffic& part : parts_) known->second.push_back(compute(part, replica, samples));
  std::vector<StageTime> out = known->second;
  if (waits_ == CountedWaits::ring) return out;
  add_group_collectives(group, samples, out);
  for (std::size_t p = 0; p < out.size(); ++p)
    add(out[p].collectives, waited(parts_[p].zero, out[p].compute));
  return out;
}

StageTime stage_time(const Problem& problem, const plan::Stage& stage, std::span<const OpId> operators,
                     std::size_t replica, std::int64_t samples) {
  return ReplicaTimes(problem, stage, operators).time(replica, samples);
}

StageTime stage_time(const Problem& problem, const plan::Stage& stage, std::int64_t samples) {
  ReplicaTimes times(problem, stage, stage.operators);
  StageTime slowest;
  for (std::size_t r = 0; r < static_cast<std::size_t>(stage.replicas()); ++r) {
    const StageTime here = times.time(r, samples);
    if (here.total().total() > slowest.total().total()) slowest = here;
  }
  return slowest;
}

Bytes held_weights(const graph::OpGraph& graph, const plan::Stage& stage, std::size_t member) {
  const auto how = partitions(stage, layout::infer(graph, stage));
  const double share = part_of(stage, member);
  Bytes sum;
  for (const OpId id : stage.operators) sum += weights_of(graph, id, how.at(id), share);
  return sum;
}

/// Bytes of statistics; layers that are computed again count one at a time.
template <class StatisticsOf>
Bytes divided_statistics(const graph::OpGraph& graph, const plan::Stage& stage,
                         const StatisticsOf& statistics_of) {
  Bytes most, all, again;
  for (const OpId id : stage.operators) all += statistics_of(id);
  for (const auto& segment : plan::segments(graph, stage.operators, stage.recompute)) {
    Bytes sum;
    for (const OpId id : segment) sum += statistics_of(id);
    most = std::max(most, sum);
    again += sum;
  }
  return all - again + most;
}

namespace {

/// Weights of the largest layer, where gradients or weights are sent layer by layer; else zero.
template <class WeightsOf>
Bytes largest_layer(const graph::OpGraph& graph, const plan::Stage& stage, const WeightsOf& weights_of_one) {
  Bytes out;
  if (!plan::replica_placement(stage).shards_gradients()) return out;
  for (const auto& layer : plan::segments(graph, stage.operators, plan::kRecomputeLayers)) {
    Bytes sum;
    for (const OpId id : layer) sum += weights_of_one(id);
    out = std::max(out, sum);
  }
  return out;
}

bool recomputes_parts(const plan::Stage& stage) {
  return stage.recompute && stage.recompute.of != plan::Recomputation::SegmentScope::stage;
}

/// Completes the load of a stage without tensor parallelism.
StageLoad undivided_load(const Problem& problem, const plan::Stage& stage, StageLoad load) {
  const graph::OpGraph& graph = problem.graph;
  load.largest = std::max(load.largest, largest_layer(graph, stage, [&](OpId id) {
                            return gathered_weights(problem, stage, id, graph.parameter_bytes(id));
                          }));
  const ActivationsOf activations_of = whole_activations(problem);
  load.released = released(graph, stage.operators, load, activations_of,
                           plan::inner_cores(graph, stage.operators, stage.recompute));
  if (!recomputes_parts(stage)) return load;
  divide_activations(load, graph, stage, activations_of);
  load.statistics = divided_statistics(graph, stage, [&](OpId id) { return batch_statistics(graph.op(id)); });
  return load;
}

/// Load of one member of a tensor-parallel group, from that of the whole stage.
StageLoad divided_load(const Problem& problem, const plan::Stage& stage, std::size_t member, StageLoad load) {
  const graph::OpGraph& graph = problem.graph;
  const layout::StageLayout placed = layout::infer(graph, stage);
  const auto how = partitions(stage, placed);
  const double share = part_of(stage, member);
  std::vector<HeldCopy> copies = held_copies(graph, placed, share);
  if (saves_gathered(problem, stage))
    std::ranges::copy(gathered_copies(graph, placed, share), std::back_inserter(copies));
  const auto cut = [&](Bytes bytes, bool whole) { return whole ? bytes : rounded_up(bytes, share); };
  const auto holds_whole = [&](OpId id) {
    return layout::saved_placement(graph.op(id), how.at(id), stage) == layout::Placement::replicate;
  };
  const auto activations_of = [&](OpId id) {
    const graph::Operator& op = graph.op(id);
    const OpShard mine = op_shard(op, how.at(id), share);
    const Bytes output = std::min(op.output_bytes, op.saved_bytes);
    const bool whole = holds_whole(id);
    const Bytes sum = keeps_sum(op, how.at(id)) ? op.output_bytes : Bytes(0),
                rest = saved_bytes(problem, op) - output,
                gathered = copies_whole_rows(op, how.at(id))
                               ? std::min(rest, saved_rows(op, graph.element_bytes()))
                               : Bytes(0);
    return ActivationBytes{
        cut(output, whole) + cut(sum, whole) + gathered +
            cut(rest - gathered, mine.partition == Partition::whole),
        cut(op.output_bytes, whole),
        cut(graph::core_bytes(op, graph.element_bytes()), mine.partition == Partition::whole),
        gathered +
            cut(operand_bytes(op, graph.element_bytes()) - gathered, mine.partition == Partition::whole)};
  };
  const auto statistics_of = [&](OpId id) {
    return cut(batch_statistics(graph.op(id)), how.at(id) != Partition::column);
  };
  load.parameters = load.frozen = load.experts = load.activations = load.largest = load.fresh = Bytes(0);
  std::vector<BackwardStep> steps;
  for (const OpId id : stage.operators) {
    const graph::Operator& op = graph.op(id);
    const OpShard mine = op_shard(op, how.at(id), share);
    add_weights(load, weights_of(graph, id, how.at(id), share), is_table(op));
    load.frozen += frozen_of(graph, id, how.at(id), share);
    if (op.kind == OpKind::experts) load.experts += weights_of(graph, id, how.at(id), share);
    load.activations += activations_of(id).all;
    steps.push_back(
        divided_step(backward_step(graph, problem.costs, id), op, how.at(id), mine, holds_whole(id), cut));
  }
  for (const HeldCopy& copy : copies) load.activations += copy.bytes;
  for (const auto& [owner, users] : graph::borrowed(graph, stage.operators))  // divided as for the first
    add_weights(load, weights_of(graph, owner, how.at(users.front()), share),
                is_table(graph.op(users.front())));
  std::ranges::sort(steps, {}, &BackwardStep::op);
  load.workspace = backward_workspace(graph, steps);
  load.deferred = deferred_gradients(graph, steps, load.framework.split);
  if (stage.sequence_parallel) divide_boundaries(load, graph, stage, how, holds_whole, cut);
  load.released = released(graph, stage.operators, load, activations_of,
                           plan::inner_cores(graph, stage.operators, stage.recompute));
  load.largest =
      std::max(load.largest, largest_layer(graph, stage, [&](OpId id) {
                 return gathered_weights(problem, stage, id, weights_of(graph, id, how.at(id), share));
               }));
  load.statistics = Bytes(0);
  for (const OpId id : stage.operators) load.statistics += statistics_of(id);
  if (!recomputes_parts(stage)) return load;
  divide_activations(load, graph, stage, activations_of, copies);
  load.statistics = divided_statistics(graph, stage, statistics_of);
  return load;
}

StageLoad load_of(const Problem& given, const plan::Stage& stage, std::size_t member) {
  const LocalProblem local(given, stage);
  const Problem& problem = local.get();
  StageLoad load = stage_load(problem, stage.operators);
  load = stage.tensor_parallel == 1 ? undivided_load(problem, stage, load)
                                    : divided_load(problem, stage, member, load);
  load.updated = updated_weights(problem, stage, member);
  return load;
}

}  // namespace

StageLoad stage_load(const Problem& problem, const plan::Stage& stage, std::size_t member) {
  StageKey key("load", problem, stage);
  key.add(static_cast<std::int64_t>(member));
  return *StageMemo::recall(problem, key, [&] { return load_of(problem, stage, member); });
}

StageLoad stage_load(const Problem& problem, const plan::Stage& stage) {
  std::size_t most = 0;
  for (std::size_t m = 1; m < static_cast<std::size_t>(stage.tensor_parallel); ++m)
    if (part_of(stage, m) > part_of(stage, most)) most = m;
  return stage_load(problem, stage, most);
}

Seconds step_time(const Problem& problem, const plan::Stage& stage, std::size_t member,
                  const cluster::DeviceType& device) {
  plan::ReplicaPlacement placement = plan::replica_placement(stage);
  const StageLoad load = stage_load(problem, stage, member);
  placement.whole_experts = load.whole_experts;
  const StepWeights weights = step_weights(load, placement);
  Problem beside = problem;
  beside.training = problem.training.by_adam();
  return update_time(problem, weights.own, device) +
         (weights.by_adam.value() > 0 ? update_time(beside, weights.by_adam, device) : Seconds(0)) +
         orthogonalization_time(problem, stage, member, device) +
         weight_cast_time(problem, load.parameters, device);
}

}  // namespace penstock::cost
