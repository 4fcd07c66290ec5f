#include "penstock/graph/graph_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "model_json.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/graph/graph_builder.hpp"

namespace penstock::graph {
namespace {

using core::OpId;
using core::Yaml;
using OrderedJson = nlohmann::ordered_json;

OrderedJson to_json(const OpGraph& graph, OpId id) {
  const Operator& op = graph.op(id);
  OrderedJson inputs = OrderedJson::array(), shape = OrderedJson::object();
  for (Vertex p : graph.dag().predecessors(static_cast<Vertex>(id.index())))
    inputs.push_back(graph.op(OpId(static_cast<std::size_t>(p))).name);
  for (const auto& [extent, value] : op.shape) shape[extent] = value;
  return {{"name", op.name},
          {"kind", name(op.kind)},
          {"inputs", inputs},
          {"shape", shape},
          {"forward_flops", op.forward_flops.value()},
          {"input_gradient_flops", op.input_gradient_flops.value()},
          {"weight_gradient_flops", op.weight_gradient_flops.value()},
          {"parameters", op.parameters},
          {"gathered_parameters", op.gathered_parameters},
          {"output_bytes", op.output_bytes.value()},
          {"kept_bytes", op.kept_bytes.value()}};
}

/// JSON cannot hold other text, so what we read could not be written again.
void check_utf8(const Yaml& place, const std::string& text) {
  try {
    (void)OrderedJson(text).dump();
  } catch (const OrderedJson::type_error&) {
    place.fail("expected text in UTF-8");
  }
}

std::string name_of(const Yaml& owner) {
  const Yaml name = owner.at("name");
  check_utf8(name, name.text());
  return name.text();
}

std::int64_t count(const Yaml& op, std::string_view key) {
  const auto found = op.find(key);
  return found ? found->integer(0, kMostCount) : 0;
}

core::Flops flops(const Yaml& op, std::string_view key) {
  const auto found = op.find(key);
  const double value = found ? found->number() : 0;
  if (value < 0 || value > kMostFlops)
    found->fail("expected a FLOP count from 0 to 1e30, found " + found->text());
  return core::Flops(value);
}

OpKind kind_of(const Yaml& kind) {
  const std::string written = kind.text();
  try {
    return op_kind(written);
  } catch (const core::BadInput& e) {
    kind.fail(e.what());
  }
}

auto extents(const Yaml& shape) {
  decltype(Operator::shape) out;
  for (const auto& [extent, value] : shape.entries()) {
    check_utf8(value, extent);
    if (extent.size() > kLongestExtent) value.fail("expected a name of at most 128 bytes");
    out.emplace_back(extent, value.integer(0, kMostCount));
  }
  return out;
}

/// Heads of keys and values are shared by groups of equally many heads.
void check_heads(const Yaml& shape, const Operator& op) {
  const auto shared = extent(op.shape, "kv_heads");
  if (!shared) return;
  const std::int64_t heads = extent(op, "heads");
  if (*shared < 1 || heads < 1 || heads % *shared != 0)
    shape.at("kv_heads").fail(fmt::format("expected a divisor of the {} heads", heads));
}

Operator parse_operator(const Yaml& yaml) {
  yaml.only({"name", "kind", "inputs", "shape", "forward_flops", "input_gradient_flops",
             "weight_gradient_flops", "parameters", "gathered_parameters", "output_bytes", "kept_bytes"});
  Operator op;
  op.name = name_of(yaml);
  op.kind = kind_of(yaml.at("kind"));
  if (const auto shape = yaml.find("shape")) {
    op.shape = extents(*shape);
    check_heads(*shape, op);
  }
  op.forward_flops = flops(yaml, "forward_flops");
  op.input_gradient_flops = flops(yaml, "input_gradient_flops");
  op.weight_gradient_flops = flops(yaml, "weight_gradient_flops");
  op.parameters = count(yaml, "parameters");
  op.gathered_parameters = count(yaml, "gathered_parameters");
  op.output_bytes = core::Bytes(count(yaml, "output_bytes"));
  op.kept_bytes = core::Bytes(count(yaml, "kept_bytes"));
  return op;
}

using Ids = std::unordered_map<std::string, OpId>;

void add_inputs(GraphBuilder& builder, OpId consumer, const Yaml& op, const Ids& ids) {
  const auto inputs = op.find("inputs");
  if (!inputs) return;
  for (const Yaml& input : inputs->items()) {
    const auto producer = ids.find(input.text());
    if (producer == ids.end()) input.fail("no operator is named '" + input.text() + "'");
    builder.add_edge(producer->second, consumer);
  }
}

/// Faults of the graph as a whole, such as a cycle, are laid at the list of operators.
OpGraph build(const GraphBuilder& builder, const Yaml& operators) {
  try {
    return builder.build();
  } catch (const core::BadInput& e) {
    operators.fail(e.what());
  }
}

OpGraph parse(const Yaml& file) {
  file.only({"penstock", "version", "name", "element_bytes", "operators"});
  if (file.at("penstock").text() != "model") file.at("penstock").fail("expected 'model'");
  file.at("version").integer(1, 1);
  GraphBuilder builder(name_of(file), static_cast<int>(file.at("element_bytes").integer(1, 16)));
  const Yaml operators = file.at("operators");
  const std::vector<Yaml> items = operators.items();
  Ids ids;
  for (const Yaml& item : items) {
    Operator op = parse_operator(item);
    const std::string name = op.name;
    if (!ids.emplace(name, builder.add(std::move(op))).second)
      item.at("name").fail("a second operator named '" + name + "'");
  }
  for (std::size_t i = 0; i < items.size(); ++i) add_inputs(builder, OpId(i), items[i], ids);
  return build(builder, operators);
}

/// Nothing where the graph has a fault.
std::optional<OpGraph> built(ModelDraft draft) try {
  GraphBuilder builder(std::move(draft.name), draft.element_bytes);
  Ids ids;
  for (Operator& op : draft.operators) {
    std::string name = op.name;
    if (!ids.emplace(std::move(name), builder.add(std::move(op))).second) return std::nullopt;
  }
  for (std::size_t i = 0; i < draft.inputs.size(); ++i)
    for (const std::string& input : draft.inputs[i]) {
      const auto producer = ids.find(input);
      if (producer == ids.end()) return std::nullopt;
      builder.add_edge(producer->second, OpId(i));
    }
  return builder.build();
} catch (const core::BadInput&) {
  return std::nullopt;
}

/// For use between double quotes in DOT.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string to_json(const OpGraph& graph) {
  OrderedJson operators = OrderedJson::array();
  for (std::size_t i = 0; i < graph.size(); ++i) operators.push_back(to_json(graph, OpId(i)));
  const OrderedJson file = {{"penstock", "model"},
                            {"version", 1},
                            {"name", graph.name()},
                            {"element_bytes", graph.element_bytes()},
                            {"operators", operators}};
  return file.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OpGraph parse_graph(const std::string& text, const std::string& filename) {
  if (auto draft = read_model_json(text))
    if (auto graph = built(std::move(*draft))) return std::move(*graph);
  return parse(Yaml::parse(text, filename));
}

OpGraph load_graph(const std::string& path) {
  return parse_graph(core::read_file(path), path);
}

std::string to_dot(const OpGraph& graph) {
  std::string out = fmt::format("digraph \"{}\" {{\n  node [shape=box];\n", escaped(graph.name()));
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Operator& op = graph.op(OpId(i));
    out += fmt::format("  {} [label=\"{}\\n{}\"];\n", i, escaped(op.name), name(op.kind));
  }
  for (const auto& [from, to] : graph.dag().edges()) out += fmt::format("  {} -> {};\n", from, to);
  return out + "}\n";
}

}  // namespace penstock::graph
