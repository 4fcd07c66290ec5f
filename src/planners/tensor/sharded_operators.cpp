#include "tensor/sharded_operators.hpp"

#include <algorithm>
#include <set>

namespace penstock::planners {
namespace {

using core::DeviceId;
using core::OpId;
using graph::OpKind;
using graph::Vertex;
using Kind = layout::GroupCollective::Kind;

Vertex vertex(OpId id) {
  return static_cast<Vertex>(id.index());
}

plan::Stage stage_of(std::vector<OpId> operators, int degree) {
  plan::Stage stage;
  stage.operators = std::move(operators);
  stage.tensor_parallel = degree;
  return stage;
}

std::vector<OpId> all_operators(const graph::OpGraph& graph) {
  std::vector<OpId> out;
  for (std::size_t v = 0; v < graph.size(); ++v) out.emplace_back(v);
  return out;
}

/// Partitions that the rule of layout/infer.hpp may choose for an operator, with any neighbours.
std::vector<plan::Partition> possible(const graph::Operator& op) {
  if (op.kind == OpKind::input) return {plan::Partition::whole};
  if (op.kind == OpKind::embedding) return {plan::Partition::row};
  if (op.kind == OpKind::attention || graph::passes_tokens_on(op)) return {plan::Partition::column};
  const bool mixes = cost::op_shard(op, plan::Partition::column, 0.5).whole_input;
  return {plan::Partition::column, mixes ? plan::Partition::row : plan::Partition::whole};
}

void add_new(std::vector<cost::AllReduce>& list, cost::AllReduce collective) {
  const auto known = [&](const cost::AllReduce& other) { return other == collective; };
  if (std::none_of(list.begin(), list.end(), known)) list.push_back(std::move(collective));
}

/// Groups aligned to their size; within nodes, unless no node has enough devices.
std::vector<std::vector<DeviceId>> groups_of(const cluster::Cluster& cluster, std::size_t degree) {
  std::vector<std::vector<DeviceId>> inside, all;
  for (std::size_t first = 0; first + degree <= cluster.size(); first += degree) {
    std::vector<DeviceId> group;
    for (std::size_t d = first; d < first + degree; ++d) group.emplace_back(d);
    const auto near = [&](DeviceId d) { return cluster.node(d) == cluster.node(group.front()); };
    if (std::all_of(group.begin(), group.end(), near)) inside.push_back(group);
    all.push_back(std::move(group));
  }
  return inside.empty() ? all : inside;
}

}  // namespace

ShardedOperators::ShardedOperators(const cost::Problem& problem, int degree)
    : problem_(problem),
      degree_(degree),
      layout_(layout::infer(problem.graph, stage_of(all_operators(problem.graph), degree))),
      copies_(cost::held_copies(problem.graph, layout_, 1.0 / degree)) {
  find_groups();
  std::set<std::size_t> types;
  for (const cluster::Device& device : problem.cluster.devices()) types.insert(device.type);
  types_.assign(types.begin(), types.end());
  for (const OpId id : all_operators(problem.graph)) ways_.push_back(ways(id));
}

void ShardedOperators::find_groups() {
  for (const auto& group : groups_of(problem_.cluster, static_cast<std::size_t>(degree_))) {
    add_new(all_reduce_, cost::all_reduce(problem_.cluster, group));
    add_new(all_gather_, cost::all_gather(problem_.cluster, {&group, 1}));
  }
}

std::vector<ShardedOperators::Way> ShardedOperators::ways(OpId id) const {
  std::vector<Way> out;
  for (const plan::Partition how : possible(problem_.graph.op(id))) {
    plan::Stage stage = stage_of({id}, degree_);
    stage.partition[id] = how;
    out.push_back({how, layout::infer(problem_.graph, stage)});
  }
  return out;
}

cost::OpShard ShardedOperators::part(OpId id) const {
  return cost::op_shard(problem_.graph.op(id), layout_.partition[id.index()], 1.0 / degree_);
}

std::vector<OpId> ShardedOperators::readers(OpId made) const {
  std::vector<OpId> out;
  for (const Vertex v : problem_.graph.dag().successors(vertex(made)))
    out.emplace_back(static_cast<std::size_t>(v));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<OpId> ShardedOperators::whole_readers(OpId made) const {
  auto out = readers(made);
  std::erase_if(out, [&](OpId reader) { return !part(reader).whole_input; });
  return out;
}

std::vector<OpId> ShardedOperators::summing_readers(OpId made) const {
  if (problem_.graph.op(made).kind == OpKind::input) return {};
  auto out = readers(made);
  std::erase_if(out, [&](OpId reader) {
    return !layout::rule(problem_.graph.op(reader), layout_.partition[reader.index()]).partial_input_gradient;
  });
  return out;
}

cost::StageLoad ShardedOperators::load(std::span<const OpId> operators) const {
  plan::Stage stage = stage_of({operators.begin(), operators.end()}, degree_);
  for (const OpId id : operators) stage.partition[id] = layout_.partition[id.index()];
  cost::StageLoad out = cost::stage_load(problem_, stage);
  for (const auto& held :
       cost::held_copies(problem_.graph, layout::infer(problem_.graph, stage), 1.0 / degree_))
    out.activations -= held.bytes;
  for (const auto& held : copies_)
    if (std::ranges::count(operators, held.copy.tensor) > 0) out.activations += held.bytes;
  return out;
}

ShardedTimes::ShardedTimes(const ShardedOperators& operators, std::int64_t samples)
    : operators_(operators), samples_(samples) {
  const layout::StageLayout& sharding = operators.layout_;
  for (std::size_t v = 0; v < sharding.partition.size(); ++v)
    times_.push_back(compute(OpId(v), sharding.partition[v]));
  for (const auto& c : sharding.collectives.forward) {
    times_[c.op.index()].forward += seconds(c);
    times_[c.op.index()].total += seconds(c);
  }
  for (const auto& c : sharding.collectives.backward) times_[c.op.index()].total += seconds(c);
  for (std::size_t v = 0; v < operators.ways_.size(); ++v) excess_.push_back(most_excess(OpId(v)));
}

ShardedTimes::Passes ShardedTimes::compute(OpId id, plan::Partition how) const {
  const cost::Problem& problem = operators_.problem_;
  const cost::OpShard part = cost::op_shard(problem.graph.op(id), how, 1.0 / operators_.degree_);
  Passes out;
  for (const std::size_t type : operators_.types_) {
    const auto time = cost::operator_time(problem, id, problem.cluster.types()[type], samples_, part);
    out.forward = std::max(out.forward, time.forward.value());
    out.total = std::max(out.total, time.total().value());
  }
  return out;
}

/// Slowest time of a collective. The rule has no all-to-all, which needs operators divided by samples.
double ShardedTimes::seconds(const layout::GroupCollective& collective) const {
  double slowest = 0;
  for (const auto& group :
       collective.kind == Kind::all_reduce ? operators_.all_reduce_ : operators_.all_gather_)
    slowest = std::max(slowest, group.time(collective.bytes * samples_).value());
  for (const std::size_t type : operators_.types_)  // a collective is launched, too
    slowest = std::max(slowest, operators_.problem_.cluster.types()[type].host().one_kernel().value());
  return slowest;
}

double ShardedTimes::all_gather_time(OpId made) const {
  return seconds({Kind::all_gather, made, operators_.problem_.graph.op(made).output_bytes});
}

double ShardedTimes::summed(OpId made) const {
  return seconds({Kind::all_reduce, made, operators_.problem_.graph.op(made).output_bytes});
}

double ShardedTimes::most_excess(OpId id) const {
  double most = 0;
  for (const auto& way : operators_.ways_[id.index()]) {
    double total = compute(id, way.partition).total;
    for (const auto* list : {&way.alone.collectives.forward, &way.alone.collectives.backward})
      for (const auto& collective : *list) total += seconds(collective);
    most = std::max(most, total - times_[id.index()].total);
  }
  return most;
}

ShardedTimes::Passes ShardedTimes::of(std::span<const OpId> operators) const {
  Passes out;
  for (const OpId id : operators) {
    out.forward += times_[id.index()].forward;
    out.total += times_[id.index()].total;
  }
  return out;
}

/// Additional output time. In the whole model the first reader that needs all of a sharded tensor gathers it
/// for all others. The first whose gradients are partial sums adds them up for all others.
double ShardedTimes::output_time(OpId made, OpId reader) const {
  const bool for_others = operators_.whole_readers(made).size() > 1;
  const double gather = operators_.part(made).whole_output || for_others ? all_gather_time(made) : 0;
  const auto summing = operators_.summing_readers(made);
  return gather + (summing.size() > 1 && summing.front() == reader ? summed(made) : 0);
}

double ShardedTimes::input_time(OpId made, OpId reader) const {
  if (operators_.part(reader).whole_input) {
    const bool all_gathers =
        !operators_.part(made).whole_output && operators_.whole_readers(made).front() == reader;
    const auto summing = operators_.summing_readers(made);
    const bool late = std::ranges::count(summing, reader) > 0 && summing.front() != reader;
    return (all_gathers ? 0 : all_gather_time(made)) + (late ? summed(made) : 0);
  }
  return operators_.part(made).whole_output ? 0 : behind(reader);
}

/// Additional time behind a reader. Divisions change from reader to reader, except past operators that are
/// always divided in the same way. Such an operator may also have to gather what another gathered for it.
double ShardedTimes::behind(OpId reader) const {
  const graph::OpGraph& graph = operators_.problem_.graph;
  std::vector<bool> seen(graph.size());
  std::vector<OpId> waiting{reader};
  double sum = 0;
  seen[reader.index()] = true;
  while (!waiting.empty()) {
    const OpId id = waiting.back();
    waiting.pop_back();
    sum += excess_[id.index()];
    for (const Vertex v : graph.dag().predecessors(vertex(id)))
      if (const OpId made(static_cast<std::size_t>(v)); operators_.readers(made).size() > 1)
        sum += all_gather_time(made);
    if (operators_.ways_[id.index()].size() == 1) continue;
    for (const OpId next : operators_.readers(id))
      if (!seen[next.index()]) {
        seen[next.index()] = true;
        waiting.push_back(next);
      }
  }
  return sum;
}

}  // namespace penstock::planners
