#include "penstock/graph/graph_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "model_json.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/graph/canonical.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "product_work.hpp"

namespace penstock::graph {
namespace {

using core::OpId;
using core::Yaml;
using OrderedJson = nlohmann::ordered_json;

OrderedJson to_json(const OpGraph& graph, OpId id) {
  const Operator& op = graph.op(id);
  OrderedJson inputs = OrderedJson::array(), shape = OrderedJson::object();
  for (const OpId operand : graph.operands(id)) inputs.push_back(graph.op(operand).name);
  for (const auto& [extent, value] : shape_of(op.attributes)) shape[extent] = value;
  OrderedJson out = {{"name", op.name},
                     {"kind", name(op.kind)},
                     {"inputs", inputs},
                     {"shape", shape},
                     {"forward_flops", op.forward_flops.value()},
                     {"input_gradient_flops", op.input_gradient_flops.value()},
                     {"weight_gradient_flops", op.weight_gradient_flops.value()},
                     {"parameters", op.parameters},
                     {"gathered_parameters", op.gathered_parameters},
                     {"output_bytes", op.output_bytes.value()},
                     {"kept_bytes", op.saved_bytes.value()}};
  if (op.frozen_parameters > 0) out["frozen_parameters"] = op.frozen_parameters;
  if (!op.parameters_of.empty()) out["parameters_of"] = op.parameters_of;
  if (op.products != ProductFormat::stored) out["products"] = name(op.products);
  if (op.adapter_rank > 0) out["adapter_rank"] = op.adapter_rank;
  if (op.frozen_format != FrozenFormat::stored) out["frozen_format"] = name(op.frozen_format);
  return out;
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

template <class Format>
Format format_of(const Yaml& node, Format read(std::string_view)) {
  try {
    return read(node.text());
  } catch (const core::BadInput& e) {
    node.fail(e.what());
  }
}

Shape extents(const Yaml& shape) {
  Shape out;
  for (const auto& [extent, value] : shape.entries()) {
    out.emplace_back(extent, value.integer(0, kMostCount));
  }
  return out;
}

/// Faults are laid at the extent.
Attributes attributes(OpKind kind, const Yaml& shape) try {
  return attributes_of(kind, extents(shape));
} catch (const ExtentFault& fault) {
  shape.at(fault.extent).fail(fault.why);
}

void check_work(const Yaml& yaml, const Operator& op) {
  const auto fault = work_fault(op);
  if (!fault) return;
  yaml.at(fault->key)
      .fail(fmt::format(
          "the shape of {} '{}' gives {:g} FLOPs for a sample, two for each multiplication, found {:g}",
          name(op.kind), op.name, fault->by_shape, fault->stated));
}

void check_counts(const Yaml& yaml, const Operator& op, int element_bytes, bool lends) {
  if (const auto fault = count_fault(op, element_bytes, lends))
    yaml.at(fault->key)
        .fail(fmt::format("the shape of {} '{}' gives {}, found {}", name(op.kind), op.name, fault->by_shape,
                          fault->stated));
}

Operator parse_operator(const Yaml& yaml, std::int64_t version) {
  yaml.only({"name", "kind", "inputs", "shape", "forward_flops", "input_gradient_flops",
             "weight_gradient_flops", "parameters", "frozen_parameters", "parameters_of",
             "gathered_parameters", "output_bytes", "kept_bytes", "products", "adapter_rank",
             "frozen_format"});
  Operator op;
  if (const auto owner = yaml.find("parameters_of")) {
    if (version < 2) owner->fail("a key of version 2");
    check_utf8(*owner, owner->text());
    op.parameters_of = owner->text();
  }
  if (const auto frozen = yaml.find("frozen_parameters"); frozen && version < 2)
    frozen->fail("a key of version 2");
  op.name = name_of(yaml);
  op.kind = kind_of(yaml.at("kind"));
  if (const auto shape = yaml.find("shape")) op.attributes = attributes(op.kind, *shape);
  op.forward_flops = flops(yaml, "forward_flops");
  op.input_gradient_flops = flops(yaml, "input_gradient_flops");
  op.weight_gradient_flops = flops(yaml, "weight_gradient_flops");
  op.parameters = count(yaml, "parameters");
  op.frozen_parameters = count(yaml, "frozen_parameters");
  op.gathered_parameters = count(yaml, "gathered_parameters");
  op.output_bytes = core::Bytes(count(yaml, "output_bytes"));
  op.saved_bytes = core::Bytes(count(yaml, "kept_bytes"));
  if (const auto products = yaml.find("products")) op.products = format_of(*products, product_format);
  op.adapter_rank = count(yaml, "adapter_rank");
  if (const auto format = yaml.find("frozen_format")) op.frozen_format = format_of(*format, frozen_format);
  check_work(yaml, op);
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

/// Numbers in its matrix; 0 of other kinds.
std::int64_t matrix(const Operator& op) {
  if (op.kind == OpKind::linear) return as<Linear>(op).in * as<Linear>(op).out;
  return as<Embedding>(op).rows * as<Embedding>(op).width;
}

/// Owner by the rule of version 1, for a dense layer or table that has work for a weight gradient, but no
/// parameters. It uses those of the first dense layer or table before it whose matrix has its size.
std::string first_alike(const OpGraph& graph, OpId id) {
  const Operator& op = graph.op(id);
  const std::int64_t size = matrix(op);
  if (op.parameters > 0 || op.weight_gradient_flops.value() == 0 || size == 0) return "";
  for (std::size_t v = 0; v < id.index(); ++v)
    if (graph.op(OpId(v)).parameters > 0 && matrix(graph.op(OpId(v))) == size) return graph.op(OpId(v)).name;
  return "";
}

/// A file of version 1 does not state the order of operands. It shows whose parameters are used only by what
/// it leaves out.
OpGraph build(GraphBuilder& builder, const Ids& ids, std::int64_t version) {
  if (version > 1) return canonical(builder.build());
  builder.forget_operand_order();
  OpGraph graph = canonical(builder.build());
  bool tied = false;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (const std::string owner = first_alike(graph, OpId(v)); !owner.empty()) {
      builder.tie(ids.at(graph.op(OpId(v)).name), owner);
      tied = true;
    }
  return tied ? canonical(builder.build()) : graph;
}

/// Faults of the graph as a whole, such as a cycle, are laid at the list of operators.
OpGraph build(GraphBuilder& builder, const Ids& ids, std::int64_t version, const Yaml& operators) {
  try {
    return build(builder, ids, version);
  } catch (const core::BadInput& e) {
    operators.fail(e.what());
  }
}

OpGraph parse(const Yaml& file) {
  file.only({"penstock", "version", "name", "element_bytes", "operators"});
  if (file.at("penstock").text() != "model") file.at("penstock").fail("expected 'model'");
  const std::int64_t version = file.at("version").integer(1, kNewestVersion);
  const auto element_bytes = static_cast<int>(file.at("element_bytes").integer(1, 16));
  GraphBuilder builder(name_of(file), element_bytes);
  const Yaml operators = file.at("operators");
  const std::vector<Yaml> items = operators.items();
  std::set<std::string> lenders;
  for (const Yaml& item : items)
    if (const auto owner = item.find("parameters_of")) lenders.insert(owner->text());
  Ids ids;
  for (const Yaml& item : items) {
    Operator op = parse_operator(item, version);
    const std::string name = op.name;
    check_counts(item, op, element_bytes, lenders.contains(name));
    if (!ids.emplace(name, builder.add(std::move(op))).second)
      item.at("name").fail("a second operator named '" + name + "'");
  }
  for (std::size_t i = 0; i < items.size(); ++i) add_inputs(builder, OpId(i), items[i], ids);
  return build(builder, ids, version, operators);
}

/// Nothing where the graph has a fault.
std::optional<OpGraph> built(ModelDraft draft) try {
  GraphBuilder builder(std::move(draft.name), draft.element_bytes);
  Ids ids;
  std::set<std::string> lenders;
  for (const Operator& op : draft.operators) lenders.insert(op.parameters_of);
  for (std::size_t i = 0; i < draft.operators.size(); ++i) {
    Operator& op = draft.operators[i];
    op.attributes = attributes_of(op.kind, draft.shapes[i]);
    if (work_fault(op) || count_fault(op, draft.element_bytes, lenders.contains(op.name)))
      return std::nullopt;
    std::string name = op.name;
    if (!ids.emplace(std::move(name), builder.add(std::move(op))).second) return std::nullopt;
  }
  for (std::size_t i = 0; i < draft.inputs.size(); ++i)
    for (const std::string& input : draft.inputs[i]) {
      const auto producer = ids.find(input);
      if (producer == ids.end()) return std::nullopt;
      builder.add_edge(producer->second, OpId(i));
    }
  return build(builder, ids, draft.version);
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
                            {"version", graph.operands_ordered() ? 2 : 1},
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
