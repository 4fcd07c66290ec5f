#include "penstock/graph/graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <cmath>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "outputs.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/adapters.hpp"

namespace penstock::graph {

using core::OpId;
using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Operator>;

struct GraphBuilder::Draft {
  std::string name;
  int element_bytes;
  BoostGraph graph;
  std::vector<std::vector<OpId>> operands;
  bool operands_ordered = true;
};

namespace {

struct CycleFound {
  std::size_t from, to;  ///< the edge that closes the cycle
};

/// Stops the search at the first edge that leads back to an unfinished vertex.
struct CycleFinder : boost::default_dfs_visitor {
  std::vector<std::size_t>* parent;
  template <class E>
  void tree_edge(E e, const BoostGraph& g) const {
    (*parent)[boost::target(e, g)] = boost::source(e, g);
  }
  template <class E>
  void back_edge(E e, const BoostGraph& g) const {
    throw CycleFound{boost::source(e, g), boost::target(e, g)};
  }
};

/// Throws BadInput with the cycle spelt out: "a -> b -> a".
void check_acyclic(const std::string& name, const BoostGraph& graph) {
  std::vector<std::size_t> parent(boost::num_vertices(graph));
  CycleFinder finder;
  finder.parent = &parent;
  try {
    boost::depth_first_search(graph, boost::visitor(finder));
  } catch (const CycleFound& cycle) {
    std::string path = graph[cycle.to].name;
    for (std::size_t v = cycle.from; v != cycle.to; v = parent[v]) path = graph[v].name + " -> " + path;
    throw core::BadInput(
        fmt::format("model {}: the operators form a cycle: {} -> {}", name, graph[cycle.to].name, path));
  }
}

const char* adapter_fault(const Operator& op) {
  if (op.adapter_rank < 0 || adapter_shapes(op).empty())
    return "has a rank of adapters, which only dense layers and attention have";
  if (op.frozen_parameters == 0) return "has adapters, and no frozen parameters beside them";
  if (op.parameters != adapter_numbers(op)) return "has adapters, and other parameters than these";
  return nullptr;
}

void check_operator(const std::string& model, const Operator& op) {
  const auto bad_flops = [](core::Flops f) { return !std::isfinite(f.value()) || f.value() < 0; };
  const char* fault = nullptr;
  if (op.name.empty()) fault = "has no name";
  if (op.output_bytes.value() < 0 || op.saved_bytes.value() < 0) fault = "has a negative size";
  if (op.parameters < 0 || op.frozen_parameters < 0 || op.gathered_parameters < 0)
    fault = "has a negative number of parameters";
  if (op.frozen_parameters > 0 && weighs(op) && op.adapter_rank == 0)
    fault = "trains, and has frozen parameters";
  if (op.adapter_rank != 0) fault = fault ? fault : adapter_fault(op);
  if (op.frozen_format != FrozenFormat::stored && op.frozen_parameters == 0)
    fault = "has a format of frozen parameters, and none of these";
  if (op.products != ProductFormat::stored && op.kind != OpKind::linear && op.kind != OpKind::attention &&
      op.kind != OpKind::experts)
    fault = "multiplies by no weights, so it has no format of products";
  if (!suits(op.kind, op.attributes)) fault = "has attributes of another kind";
  if (bad_flops(op.forward_flops) || bad_flops(op.input_gradient_flops) ||
      bad_flops(op.weight_gradient_flops))
    fault = "has a FLOP count that is negative or not finite";
  if (fault) throw core::BadInput(fmt::format("model {}: operator '{}' {}", model, op.name, fault));
}

struct ParameterList {
  std::vector<Parameter> all;
  std::vector<ParameterId> of;  ///< [operator]
};

/// An operator uses its own, or by name those of one before it.
ParameterList named_parameters(const std::string& model, const std::vector<Operator>& operators) {
  std::unordered_map<std::string, ParameterId> before;
  ParameterList out;
  for (std::size_t v = 0; v < operators.size(); ++v) {
    const Operator& op = operators[v];
    ParameterId used;
    if (op.parameters > 0) {
      used = before.emplace(op.name, out.all.size()).first->second;
      out.all.push_back({op.name, op.parameters, {}});
    }
    if (!op.parameters_of.empty()) {
      const auto found = before.find(op.parameters_of);
      if (op.parameters > 0 || found == before.end())
        throw core::BadInput(fmt::format(
            "model {}: operator '{}' uses the parameters of '{}', {}", model, op.name, op.parameters_of,
            op.parameters > 0 ? "and has its own" : "none before it has that name and any"));
      used = found->second;
    }
    if (used.valid()) out.all[used.index()].users.emplace_back(v);
    out.of.push_back(used);
  }
  return out;
}

/// [operator] those that use its parameters.
using Users = std::vector<std::vector<std::size_t>>;

Users users_of_parameters(const BoostGraph& graph) {
  std::unordered_map<std::string_view, std::size_t> owners;
  for (std::size_t v = 0; v < boost::num_vertices(graph); ++v)
    if (graph[v].parameters > 0) owners.emplace(graph[v].name, v);
  Users out(boost::num_vertices(graph));
  for (std::size_t v = 0; v < out.size(); ++v)
    if (const auto owner = owners.find(graph[v].parameters_of); owner != owners.end())
      out[owner->second].push_back(v);
  return out;
}

/// Kahn's algorithm, smallest provisional number first: stable where insertion order was topological. Shorter
/// than the graph where an owner of parameters comes after their user.
std::vector<std::size_t> stable_order(const BoostGraph& graph, const Users& users) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  std::vector<std::size_t> waiting(boost::num_vertices(graph)), order;
  for (std::size_t v = 0; v < waiting.size(); ++v) waiting[v] = boost::in_degree(v, graph);
  for (const auto& of : users)
    for (const std::size_t user : of) ++waiting[user];
  const auto reach = [&](std::size_t v) {
    if (--waiting[v] == 0) ready.push(v);
  };
  for (std::size_t v = 0; v < waiting.size(); ++v)
    if (waiting[v] == 0) ready.push(v);
  while (!ready.empty()) {
    const std::size_t v = ready.top();
    ready.pop();
    order.push_back(v);
    for (auto [e, end] = boost::out_edges(v, graph); e != end; ++e) reach(boost::target(*e, graph));
    for (const std::size_t user : users[v]) reach(user);
  }
  return order;
}

/// Owners of parameters come before users where that is possible; named_parameters() refuses the rest.
std::vector<std::size_t> stable_order(const BoostGraph& graph) {
  auto order = stable_order(graph, users_of_parameters(graph));
  if (order.size() == boost::num_vertices(graph)) return order;
  return stable_order(graph, Users(boost::num_vertices(graph)));
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, int element_bytes)
    : draft_(new Draft{std::move(name), element_bytes, {}, {}}) {}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

OpId GraphBuilder::add(Operator op, std::span<const OpId> inputs) {
  const OpId id(boost::add_vertex(std::move(op), draft_->graph));
  draft_->operands.emplace_back();
  for (OpId input : inputs) add_edge(input, id);
  return id;
}

OpId GraphBuilder::add(Operator op, std::initializer_list<OpId> inputs) {
  return add(std::move(op), std::span<const OpId>(inputs.begin(), inputs.size()));
}

void GraphBuilder::add_edge(OpId producer, OpId consumer) {
  core::require(producer.index() < size() && consumer.index() < size(), "edges join known operators");
  boost::add_edge(producer.index(), consumer.index(), draft_->graph);
  draft_->operands[consumer.index()].push_back(producer);
}

void GraphBuilder::tie(OpId user, const std::string& owner) {
  draft_->graph[user.index()].parameters_of = owner;
}
void GraphBuilder::forget_operand_order() {
  draft_->operands_ordered = false;
}

const Operator& GraphBuilder::op(OpId id) const {
  return draft_->graph[id.index()];
}
std::size_t GraphBuilder::size() const {
  return boost::num_vertices(draft_->graph);
}

OpGraph GraphBuilder::build() const {
  const BoostGraph& graph = draft_->graph;
  if (size() == 0) throw core::BadInput(fmt::format("model {}: there are no operators", draft_->name));
  std::unordered_set<std::string> names;
  for (std::size_t v = 0; v < size(); ++v) {
    check_operator(draft_->name, graph[v]);
    if (!names.insert(graph[v].name).second)
      throw core::BadInput(
          fmt::format("model {}: two operators are named '{}'", draft_->name, graph[v].name));
  }
  check_acyclic(draft_->name, graph);

  OpGraph out;
  out.name_ = draft_->name;
  out.element_bytes_ = draft_->element_bytes;
  const std::vector<std::size_t> order = stable_order(graph);
  std::vector<Vertex> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<Vertex>(i);
  for (std::size_t v : order) {
    out.operators_.push_back(graph[v]);
    out.frozen_parameters_ += graph[v].frozen_parameters;
    if (graph[v].products != ProductFormat::stored) out.products_ = graph[v].products;
    out.adapter_rank_ = std::max(out.adapter_rank_, graph[v].adapter_rank);
    if (graph[v].frozen_format != FrozenFormat::stored) out.frozen_format_ = graph[v].frozen_format;
  }
  std::vector<Edge> edges;
  for (auto [e, end] = boost::edges(graph); e != end; ++e)
    edges.emplace_back(place[boost::source(*e, graph)], place[boost::target(*e, graph)]);
  out.dag_ = Dag(order.size(), std::move(edges));
  out.operands_ordered_ = draft_->operands_ordered;
  out.operands_.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const OpId operand : draft_->operands[order[i]])
      out.operands_[i].emplace_back(static_cast<std::size_t>(place[operand.index()]));
  out.outputs_ = outputs(out);
  auto [parameters, named] = named_parameters(out.name_, out.operators_);
  out.parameters_ = std::move(parameters);
  out.parameter_ = std::move(named);
  out.trains_above_.resize(order.size());
  for (std::size_t v = 0; v < order.size(); ++v)
    for (const Vertex above : out.dag_.predecessors(static_cast<Vertex>(v)))
      if (out.trains(OpId(static_cast<std::size_t>(above)))) out.trains_above_[v] = true;
  return out;
}

}  // namespace penstock::graph
