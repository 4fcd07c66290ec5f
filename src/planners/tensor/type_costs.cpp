#include "tensor/type_costs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "penstock/plan/mesh.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;
using core::DeviceId;
using core::OpId;
using core::Seconds;
using layout::GroupCollective;

std::vector<std::size_t> types_of(const cost::Problem& problem, std::span<const DeviceId> group) {
  std::vector<std::size_t> out;
  for (const DeviceId d : group) out.push_back(problem.cluster.devices()[d.index()].type);
  return out;
}

/// Sum of the times of a collective of each kind, of a size that bandwidth determines.
double pace(const cost::GroupTimes& times) {
  using TransferKind = GroupCollective::TransferKind;
  double sum = 0;
  for (const TransferKind kind :
       {TransferKind::all_reduce, TransferKind::all_gather, TransferKind::all_to_all})
    sum += times.time({kind, OpId(0), Bytes(1 << 20)}, 1).value();
  return sum;
}

/// Algorithms that are the fastest for some size, then the way for no gradients.
TypeCosts::Ways ways(const cost::AllReduce& reduce, double sent) {
  TypeCosts::Ways out;
  const auto& all = reduce.algorithms;
  for (const cost::AffineTime& a : all) {
    const bool beaten = std::any_of(all.begin(), all.end(), [&](const cost::AffineTime& b) {
      const bool first = &b < &a && b.latency == a.latency && b.per_byte == a.per_byte;
      const bool better = b.latency < a.latency || b.per_byte < a.per_byte;
      return first || (better && b.latency <= a.latency && b.per_byte <= a.per_byte);
    });
    if (!beaten) out.push_back({a.latency, a.per_byte * sent});
  }
  out.push_back({0, std::numeric_limits<double>::infinity()});
  return out;
}

}  // namespace

TypeCosts::TypeCosts(const cost::Problem& problem, const plan::Stage& stage)
    : problem_(problem),
      stage_(stage),
      micro_batches_(problem.training.mini_batch / stage.micro_batch),
      samples_(plan::samples_per_device(stage.micro_batch, stage.replicas())) {
  stage_.operators.clear();
  stage_.partition.clear();
  std::map<std::vector<std::size_t>, std::pair<double, std::size_t>>
      slowest;  // slowest group with these types
  for (std::size_t r = 0; r < static_cast<std::size_t>(stage.replicas()); ++r) {
    const auto group = plan::Mesh(stage).replica(r);
    const std::pair<double, std::size_t> here(pace(cost::GroupTimes(problem.cluster, group)), r);
    auto& most = slowest.try_emplace(types_of(problem, group), here).first->second;
    if (here.first > most.first) most = here;
  }
  for (const auto& [types, replica] : slowest) add_clocks(replica.second);
  find_ways();
}

void TypeCosts::add_clocks(std::size_t replica) {
  const auto group = plan::Mesh(stage_).replica(replica);
  const auto types = types_of(problem_, group);
  const cost::GroupTimes times(problem_.cluster, group);
  std::set<std::pair<std::size_t, double>> seen;  // {device type, part}
  std::vector<std::size_t> members;
  for (std::size_t m = 0; m < group.size(); ++m)
    if (seen.insert({types[m], cost::part_of(stage_, m)}).second) members.push_back(m);
  core::Seconds launch;
  for (const DeviceId d : group) launch = std::max(launch, problem_.cluster.type(d).host().one_kernel());
  for (const std::size_t m : members) clocks_.push_back({replica, times, {m}, launch});
  if (members.size() > 1) clocks_.push_back({replica, times, members, launch});
}

void TypeCosts::find_ways() {
  among_replicas_ = among_all_ = {{0, 0}};
  for (std::size_t v = 0; v < problem_.graph.size(); ++v) {
    if (problem_.graph.op(OpId(v)).parameters == 0) continue;
    const auto of = [&](plan::Partition how) {
      const auto reductions = cost::reductions(problem_, alone(OpId(v), how), std::vector{OpId(v)});
      return reductions.empty() ? Ways{{0, 0}}
                                : ways(cost::all_reduce(problem_.cluster, reductions.front().groups),
                                       problem_.training.sent_per_weight());
    };
    among_replicas_ = of(plan::Partition::column);
    among_all_ = of(plan::Partition::batch);
    return;
  }
}

plan::Stage TypeCosts::alone(OpId op, plan::Partition how) const {
  plan::Stage out = stage_;
  out.operators = {op};
  out.partition = {{op, how}};
  return out;
}

cost::StageLoad TypeCosts::load(OpId op, plan::Partition how, std::optional<std::size_t> member) const {
  const plan::Stage stage = alone(op, how);
  cost::StageLoad out =
      member ? cost::stage_load(problem_, stage, *member) : cost::stage_load(problem_, stage);
  if (problem_.graph.op(op).parameters == 0) out.parameters = Bytes(0);
  return out;
}

double TypeCosts::own(const GroupClock& clock, OpId op, plan::Partition how) const {
  const auto group = plan::Mesh(stage_).replica(clock.replica);
  cost::OpTime compute;
  double update = 0;
  for (const std::size_t m : clock.members) {
    const cluster::DeviceType& type = problem_.cluster.type(group[m]);
    const auto part = cost::op_shard(problem_.graph.op(op), how, cost::part_of(stage_, m));
    const cost::OpTime here = cost::operator_time(problem_, op, type, samples_, part);
    compute.forward = std::max(compute.forward, here.forward);
    compute.input_gradient = std::max(compute.input_gradient, here.input_gradient);
    compute.weight_gradient = std::max(compute.weight_gradient, here.weight_gradient);
    const auto step = [&](Bytes bytes) { return cost::update_time(problem_, bytes, type).value(); };
    update = std::max(update, step(load(op, how, m).parameters) - step(Bytes(0)));
  }
  Seconds told;
  const auto collectives = layout::sums(problem_.graph, op, how);
  for (const auto* list : {&collectives.forward, &collectives.backward})
    for (const GroupCollective& c : *list) told += clock.time(c, samples_);
  return static_cast<double>(micro_batches_) * (compute.total() + told).value() + update;
}

double TypeCosts::least_update(const GroupClock& clock) const {
  const auto& type = problem_.cluster.type(plan::Mesh(stage_).replica(clock.replica)[clock.members.front()]);
  return cost::update_time(problem_, Bytes(0), type).value();
}

double TypeCosts::conversion(const GroupClock& clock, OpId producer, layout::Placement from,
                             layout::Placement to) const {
  Seconds told;
  const auto collectives = layout::convert(problem_.graph, producer, from, to, producer);
  for (const auto* list : {&collectives.forward, &collectives.backward})
    for (const GroupCollective& c : *list) told += clock.time(c, samples_);
  return static_cast<double>(micro_batches_) * told.value();
}

double TypeCosts::weights(OpId op, plan::Partition how) const {
  return static_cast<double>(load(op, how).parameters.value());
}

double TypeCosts::held(OpId op, plan::Partition how) const {
  cost::MemoryRule rule = problem_.memory;
  rule.transient = false;
  cost::StageLoad own = load(op, how);
  own.inputs = Bytes(0);
  for (const auto& each : cost::held_copies(problem_.graph, layout::infer(problem_.graph, alone(op, how)),
                                            cost::largest_part(stage_)))
    own.activations -= each.bytes;  // its inputs, which an operator by itself does not have
  const auto memory = cost::stage_memory(own, rule, problem_.training, samples_, 1);
  return static_cast<double>(plan::total(memory).value());
}

double TypeCosts::copied(OpId producer, layout::Placement from, layout::Placement to) const {
  if (from == to) return 0;
  const Bytes bytes =
      problem_.graph.op(producer).output_bytes * (samples_ * problem_.memory.activation_copies);
  return static_cast<double>(bytes.value()) *
         (to == layout::Placement::replicate ? 1 : cost::largest_part(stage_));
}

}  // namespace penstock::planners
