#include "tensor/partition_types.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "penstock/layout/ties.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using layout::Placement;

constexpr double kForbidden = std::numeric_limits<double>::infinity();
/// Sets of layouts of a tensor, numbered by their bits minus one, because there is no empty set.
constexpr int kLayoutSets = (1 << kLayouts) - 1;

bool has(int set, Placement placement) {
  return ((set + 1) >> static_cast<int>(placement) & 1) != 0;
}
plan::Partition type(int label) {
  return static_cast<plan::Partition>(label);
}

std::vector<OpId> readers(const graph::OpGraph& graph, OpId op) {
  std::vector<OpId> out;
  for (const graph::Vertex v : graph.dag().successors(static_cast<graph::Vertex>(op.index())))
    out.emplace_back(static_cast<std::size_t>(v));
  return out;
}

/// A tensor with one reader is a pair of operators. A tensor with more is a variable, paired with all of
/// them. Operators that share parameters are pairs without a producer.
MinSum structure(const graph::OpGraph& graph, std::vector<MinSum::Pair>& pairs,
                 std::vector<OpId>& producers) {
  std::vector<MinSum::LabelVariable> variables(graph.size(), {kPartitions, -1});
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto to = readers(graph, OpId(v));
    int from = static_cast<int>(v);
    if (to.size() > 1) {
      variables.push_back({kLayoutSets, kLayoutSets - 1});
      pairs.emplace_back(from, static_cast<int>(variables.size()) - 1);
      from = pairs.back().second;
    }
    for (const OpId reader : to) pairs.emplace_back(from, static_cast<int>(reader.index()));
    producers.resize(pairs.size(), OpId(v));
  }
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (const OpId owner = graph.owner(OpId(v)); owner != OpId(v))
      pairs.emplace_back(static_cast<int>(owner.index()), static_cast<int>(v));
  producers.resize(pairs.size());
  return MinSum(std::move(variables), pairs);
}

}  // namespace

double lone_stage_seconds(const cost::Problem& problem, const plan::Stage& stage) {
  const auto samples = plan::samples_per_device(stage.micro_batch, stage.replicas());
  const double passes = cost::stage_time(problem, stage, samples).total().total().value();
  const std::int64_t micro_batches = problem.training.mini_batch / stage.micro_batch;
  double sum = passes * static_cast<double>(micro_batches);
  for (const cost::GradientReduction& r : cost::reductions(problem, stage, stage.operators))
    sum += cost::time(problem, r).value();
  std::set<std::pair<std::size_t, double>> seen;  // {device type, part}
  double longest = 0;
  for (std::size_t d = 0; d < stage.devices.size(); ++d) {
    const std::size_t member = d % static_cast<std::size_t>(stage.tensor_parallel);
    const std::size_t type = problem.cluster.devices()[stage.devices[d].index()].type;
    if (seen.insert({type, cost::part_of(stage, member)}).second)
      longest =
          std::max(longest, cost::step_time(problem, stage, member, problem.cluster.types()[type]).value());
  }
  return sum + longest;
}

MinSum::Table PartitionTypes::tie_table(std::size_t pair) const {
  const auto [owner, user] = pairs_[pair];
  const auto holding = [&](int v, int t) {
    return layout::holding(problem_.graph.op(OpId(static_cast<std::size_t>(v))), type(t));
  };
  MinSum::Table out;
  for (int x = 0; x < kPartitions; ++x)
    for (int y = 0; y < kPartitions; ++y)
      out.push_back(holding(owner, x) == holding(user, y) ? 0 : kForbidden);
  return out;
}

PartitionTypes::PartitionTypes(const cost::Problem& problem)
    : problem_(problem), sum_(structure(problem.graph, pairs_, producers_)) {}

MinSum::Table PartitionTypes::pair_table(std::size_t pair, const TypeCosts& costs,
                                         const TypeCosts::GroupClock& clock, double price) const {
  const graph::OpGraph& graph = problem_.graph;
  const int a = pairs_[pair].first, b = pairs_[pair].second;
  const bool from_op = a < static_cast<int>(graph.size()), to_op = b < static_cast<int>(graph.size());
  const OpId producer = producers_[pair];
  const auto convert = [&](int t, Placement to) {
    const Placement from = layout::rule(graph.op(producer), type(t)).makes;
    return costs.conversion(clock, producer, from, to) + price * costs.copied(producer, from, to);
  };
  const auto read_as = [&](int t) {
    return layout::rule(graph.op(OpId(static_cast<std::size_t>(b))), type(t)).reads;
  };
  const auto had_in = [&](int t, int set) {
    double sum = 0;
    for (int l = 0; l < kLayouts; ++l)
      if (has(set, static_cast<Placement>(l))) sum += convert(t, static_cast<Placement>(l));
    return sum;
  };
  MinSum::Table out;
  for (int x = 0; x < (from_op ? kPartitions : kLayoutSets); ++x)
    for (int y = 0; y < (to_op ? kPartitions : kLayoutSets); ++y)
      out.push_back(!from_op ? (has(x, read_as(y)) ? 0 : kForbidden)
                    : to_op  ? convert(x, read_as(y))
                             : had_in(x, y));
  return out;
}

PartitionTypes::LabelTables PartitionTypes::tables(const TypeCosts& costs, const TypeCosts::GroupClock& clock,
                                                   double price) const {
  LabelTables out;
  for (std::size_t v = 0; v < problem_.graph.size(); ++v) {
    auto& table = out.single.emplace_back();
    for (int t = 0; t < kPartitions; ++t)
      table.push_back(costs.own(clock, OpId(v), type(t)) +
                      (price > 0 ? price * costs.held(OpId(v), type(t)) : 0));
  }
  out.single.resize(sum_.size(), MinSum::Table(kLayoutSets, 0));
  for (std::size_t p = 0; p < pairs_.size(); ++p)
    out.paired.push_back(producers_[p].valid() ? pair_table(p, costs, clock, price) : tie_table(p));
  return out;
}

PartitionTypes::LabelChoice PartitionTypes::solve(const LabelTables& tables, const TypeCosts& costs,
                                                  const std::vector<MinSum::Table>& weights,
                                                  core::StopToken stop) const {
  LabelChoice best;
  for (const cost::AffineTime& replicas : costs.among_replicas())
    for (const cost::AffineTime& all : costs.among_all()) {
      stop.check();
      auto single = tables.single;
      for (std::size_t v = 0; v < weights.size(); ++v)
        for (int t = 0; t < kPartitions; ++t) {
          const double bytes = weights[v][static_cast<std::size_t>(t)];
          const cost::AffineTime& way = type(t) == plan::Partition::batch ? all : replicas;
          if (bytes > 0) single[v][static_cast<std::size_t>(t)] += way.per_byte * bytes;
        }
      auto found = sum_.solve(single, tables.paired, stop);
      const double seconds = found.cost + replicas.latency + all.latency;
      if (seconds < best.seconds) best = {seconds, std::move(found.labels)};
    }
  return best;
}

plan::Stage PartitionTypes::typed(plan::Stage stage, const std::vector<int>& labels) const {
  stage.partition.clear();
  for (std::size_t v = 0; v < problem_.graph.size(); ++v) {
    const bool implied =
        problem_.graph.op(OpId(v)).kind == graph::OpKind::input && type(labels[v]) == plan::Partition::whole;
    if (!implied) stage.partition[OpId(v)] = type(labels[v]);
  }
  return stage;
}

PartitionTypes::TypeChoice PartitionTypes::best(const plan::Stage& stage, double price,
                                                core::StopToken stop) const {
  const TypeCosts costs(problem_, stage);
  std::vector<MinSum::Table> weights(problem_.graph.size());
  for (std::size_t v = 0; v < weights.size(); ++v)
    for (int t = 0; t < kPartitions; ++t) weights[v].push_back(costs.weights(OpId(v), type(t)));
  TypeChoice out;
  for (const TypeCosts::GroupClock& clock : costs.clocks()) {
    const LabelChoice choice = solve(tables(costs, clock, price), costs, weights, stop);
    plan::Stage here = typed(stage, choice.labels);
    const double seconds = lone_stage_seconds(problem_, here);
    if (out.solved == 0 || seconds < out.seconds) out.stage = std::move(here), out.seconds = seconds;
    out.solved += costs.among_replicas().size() * costs.among_all().size();
    if (clock.members.size() == 1)
      out.bound = std::max(out.bound, choice.seconds + costs.least_update(clock));
  }
  return out;
}

}  // namespace penstock::planners
