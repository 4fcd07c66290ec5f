#include "stage_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "penstock/core/digest.hpp"
#include "penstock/core/varint.hpp"
#include "penstock/cost/alike_operators.hpp"
#include "penstock/cost/host.hpp"
#include "penstock/plan/recomputation.hpp"

namespace penstock::cost {
namespace {

using core::DeviceId;
using core::OpId;

/// Numbers from 0 on, as values come.
template <class Value>
class ValueLabels {
 public:
  /// The number, and whether the value is new.
  std::pair<std::uint32_t, bool> of(const Value& value) {
    const auto known = std::ranges::find(values_, value);
    if (known != values_.end()) return {static_cast<std::uint32_t>(known - values_.begin()), false};
    values_.push_back(value);
    return {static_cast<std::uint32_t>(values_.size() - 1), true};
  }

 private:
  std::vector<Value> values_;
};

/// All properties of one operator that costs use, and if it fetches the batch.
auto attributes_of(const graph::OpGraph& graph, OpId id) {
  // All members by name: a new one does not compile before it has its place here.
  const auto& [name, kind, attributes, forward, input_gradient, weight_gradient, parameters, frozen, tied_to,
               gathered, output, saved, products, adapter_rank, frozen_format] = graph.op(id);
  return std::tuple(kind, attributes, forward, input_gradient, weight_gradient, parameters, frozen, gathered,
                    output, saved, products, adapter_rank, frozen_format, graph.output(id),
                    graph.trains_above(id), graph.trains(id), fetches_batch(graph, id));
}

}  // namespace

StageForms::StageForms(const Problem& problem, std::size_t most_bytes)
    : problem_(problem), most_bytes_(most_bytes) {
  number_operators();
  number_layers();
  number_nodes();
}

void StageForms::number_operators() {
  const graph::OpGraph& graph = problem_.graph;
  operators_alike_ = problem_.costs.equal_of_alike();
  std::vector<decltype(attributes_of(graph, OpId(0)))> kinds;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const OpId id(op);
    auto mine = attributes_of(graph, id);
    const auto alike = std::ranges::find(kinds, mine);
    kind_of_.push_back(static_cast<std::uint32_t>(alike - kinds.begin()));
    if (alike == kinds.end()) kinds.push_back(std::move(mine));
    const graph::ParameterId used = graph.parameter(id);
    tied_.push_back(used.valid() && graph.parameter(used).tied());
  }
}

void StageForms::number_layers() {
  std::map<std::string_view, std::uint32_t> numbers;
  for (const graph::Operator& op : problem_.graph.operators()) {
    std::vector<std::uint32_t>& around = layers_.emplace_back();
    for (auto layer = plan::layer_of(op.name); !layer.empty(); layer = plan::layer_of(layer))
      around.push_back(numbers.try_emplace(layer, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
}

namespace {

/// Owner of a point, and its place among those of that node; devices come before switches.
struct PointOwner {
  int node = -1;  ///< none: several nodes hang on it, or who takes no part
  std::size_t place = 0;
};

/// A switch is a node's own where no other device hangs on it.
std::vector<PointOwner> owned_points(const cluster::Cluster& cluster) {
  std::vector<PointOwner> out(cluster.points().size());
  std::vector<std::size_t> held;  // [node]
  const auto give = [&](std::size_t point, int node) {
    held.resize(std::max(held.size(), static_cast<std::size_t>(node) + 1));
    out[point] = {node, held[static_cast<std::size_t>(node)]++};
  };
  for (std::size_t d = 0; d < cluster.size(); ++d) give(d, cluster.node(DeviceId(d)));
  std::vector<std::set<int>> around(out.size());  // [switch] nodes
  for (const cluster::Link& link : cluster.links())
    for (const auto& [device, point] : {std::pair(link.from, link.to), std::pair(link.to, link.from)})
      if (device < cluster.listed() && point >= cluster.listed()) around[point].insert(out[device].node);
  for (std::size_t point = cluster.listed(); point < out.size(); ++point)
    if (around[point].size() == 1 && *around[point].begin() >= 0) give(point, *around[point].begin());
  return out;
}

/// [node] its devices' types and its links in order, by which routes are chosen; points of other owners, or
/// none, by number. Nodes of one name can change places, and the network stays what it is.
std::vector<std::string> node_names(const cluster::Cluster& cluster) {
  const std::vector<PointOwner> owned = owned_points(cluster);
  std::vector<std::string> out;
  for (const cluster::Device& device : cluster.devices()) {
    out.resize(std::max(out.size(), static_cast<std::size_t>(device.node) + 1));
    out[static_cast<std::size_t>(device.node)] += fmt::format("{} ", device.type);
  }
  for (const cluster::Link& link : cluster.links()) {
    const std::set<int> nodes{owned[link.from].node, owned[link.to].node};
    for (const int node : nodes) {
      if (node < 0) continue;
      const auto end = [&](std::size_t point) {
        return owned[point].node == node ? fmt::format("own {}", owned[point].place)
                                         : fmt::format("{}", point);
      };
      out[static_cast<std::size_t>(node)] += fmt::format("{}-{} {:a} {:a} ", end(link.from), end(link.to),
                                                         link.bandwidth.value(), link.latency.value());
    }
  }
  return out;
}

}  // namespace

void StageForms::number_nodes() {
  const cluster::Cluster& cluster = problem_.cluster;
  const auto in_order = [](const cluster::Device& a, const cluster::Device& b) { return a.node < b.node; };
  nodes_alike_ = cluster.given_routes().empty() && std::ranges::is_sorted(cluster.devices(), in_order);
  if (!nodes_alike_) return;
  const std::vector<PointOwner> owned = owned_points(cluster);
  for (std::size_t d = 0; d < cluster.size(); ++d)
    place_.push_back(static_cast<std::uint32_t>(owned[d].place));
  std::map<std::string, std::uint32_t> numbers;
  for (const std::string& name : node_names(cluster))
    kind_of_node_.push_back(
        numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second);
}

bool StageForms::has_name(std::span<const OpId> operators) const {
  return operators_alike_ && std::ranges::is_sorted(operators) &&
         std::ranges::none_of(operators, [&](OpId op) { return tied_[op.index()] != 0; });
}

namespace {

/// Bytes of a list; a run is given by its ends.
template <class Id>
std::string bytes_of(std::span<const Id> list) {
  std::string out;
  bool run = !list.empty();
  for (std::size_t i = 1; i < list.size(); ++i) run = run && list[i].index() == list[i - 1].index() + 1;
  core::append_varint(out, list.size());
  core::append_varint(out, run);
  for (const Id id : run ? list.first(1) : list) core::append_varint(out, id.index());
  return out;
}

/// A list of thousands takes no more room than others.
std::string shortened(std::string text) {
  constexpr std::size_t kDigits = 32;
  if (text.size() >= kDigits) return core::digest(text);
  return text;
}

}  // namespace

template <class Id, class Name>
StageForms::ListForm StageForms::form(KnownForms& known, std::span<const Id> list, bool by_place,
                                      const Name& name) {
  std::string bytes = shortened(bytes_of(list));
  {
    const std::lock_guard lock(known.mutex);
    if (const auto met = known.lists.find(bytes); met != known.lists.end()) return met->second;
  }
  std::string told_apart = by_place ? shortened(name(list)) : '=' + bytes;
  const std::lock_guard lock(known.mutex);
  constexpr std::size_t kEntries = 256;  // of two tables, or so
  known.bytes += bytes.size() + told_apart.size() + kEntries;
  if (known.bytes > most_bytes_) {
    known.lists.clear(), known.forms.clear();
    known.bytes = bytes.size() + told_apart.size() + kEntries;
  }
  const auto [form, is_new] = known.forms.try_emplace(std::move(told_apart), known.next);
  known.next += is_new;  // never one that another form had
  const ListForm out{form->second, by_place};
  known.lists.insert_or_assign(std::move(bytes), out);
  return out;
}

StageForms::ListForm StageForms::operators(std::span<const OpId> operators) {
  return form(operators_, operators, has_name(operators), [&](auto list) { return name(list); });
}

StageForms::ListForm StageForms::devices(std::span<const DeviceId> devices) {
  return form(devices_, devices, nodes_alike_, [&](auto list) { return name(list); });
}

std::string StageForms::name(std::span<const OpId> operators) const {
  std::string out;
  const auto add = [&](std::uint64_t value) { core::append_varint(out, value); };
  ValueLabels<std::uint32_t> layers;
  ValueLabels<OpId> outside;
  // Inside by its place, plus one; outside by a number of its own, with what it is where it is new.
  const auto add_end = [&](OpId other) {
    const auto place = std::ranges::lower_bound(operators, other);
    if (place != operators.end() && *place == other)
      return add(static_cast<std::uint64_t>(place - operators.begin()) + 1);
    const auto [number, is_new] = outside.of(other);
    add(0), add(number);
    if (is_new) add(kind_of_[other.index()]);
  };
  add(operators.size());
  for (const OpId op : operators) {
    const auto vertex = static_cast<graph::Vertex>(op.index());
    add(kind_of_[op.index()]);
    add(layers_[op.index()].size());
    for (const std::uint32_t layer : layers_[op.index()]) add(layers.of(layer).first);
    const auto& operands = problem_.graph.operands(op);
    add(operands.size());
    for (const OpId operand : operands) add_end(operand);
    const auto readers = problem_.graph.dag().successors(vertex);
    add(readers.size());
    for (const graph::Vertex reader : readers) add_end(OpId(static_cast<std::size_t>(reader)));
  }
  return out;
}

std::string StageForms::name(std::span<const DeviceId> devices) const {
  std::string out;
  const auto add = [&](std::uint64_t value) { core::append_varint(out, value); };
  std::vector<int> nodes;
  for (const DeviceId device : devices)
    if (nodes.empty() || nodes.back() != problem_.cluster.node(device))
      nodes.push_back(problem_.cluster.node(device));
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  add(nodes.size());
  for (const int node : nodes) add(kind_of_node_[static_cast<std::size_t>(node)]);
  for (const DeviceId device : devices) {
    add(static_cast<std::uint64_t>(std::ranges::lower_bound(nodes, problem_.cluster.node(device)) -
                                   nodes.begin()));
    add(place_[device.index()]);
  }
  return out;
}

std::vector<std::uint32_t> alike_operators(const Problem& problem) {
  StageForms forms(problem);
  std::vector<std::uint32_t> out;
  for (std::size_t op = 0; op < problem.graph.size(); ++op) {
    const OpId id(op);
    out.push_back(forms.operators({&id, 1}).number);
  }
  return out;
}

}  // namespace penstock::cost
