#include "axes.hpp"

#include <fmt/format.h>

#include "at_node.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::experiment {
namespace {

using core::Yaml;
/// Reads the node's value into a cell.
using Reader = void (*)(const Yaml&, Cell&);

/// Short enough for a file's name: a mapping's values are joined, "gradients_0.1".
std::string label(const Yaml& value) {
  if (value.is_scalar()) return value.text();
  std::string out;
  for (const auto& [key, inner] : value.entries())
    out += fmt::format("{}{}_{}", out.empty() ? "" : "_", key, inner.text());
  return out;
}

/// Each cell once for each item of a list.
std::vector<Cell> times(const std::vector<Cell>& cells, const std::string& key, const Yaml& node,
                        Reader read) {
  const bool axis = node.is_list();
  const auto values = axis ? node.items() : std::vector<Yaml>{node};
  if (values.empty()) node.fail("expected at least one value");
  if (cells.size() * values.size() > kMostCells) node.fail(fmt::format("more than {} cells", kMostCells));
  std::vector<Cell> out;
  for (const Cell& cell : cells)
    for (const Yaml& value : values) {
      read(value, out.emplace_back(cell));
      if (axis) out.back().setting.emplace_back(key, label(value));
    }
  return out;
}

void read_optimizer(const Yaml& node, Cell& cell) {
  cell.training.optimizer = at_node(node, [&] { return plan::optimizer(node.text()); });
}
void read_compression(const Yaml& node, Cell& cell) {
  cell.training.compression = plan::read_compression(node);
}
void read_micro_batch(const Yaml& node, Cell& cell) {
  cell.micro_batch = node.integer(1, plan::kMostSamples);
}
void read_network(const Yaml& node, Cell& cell) {
  cell.simulation.network = at_node(node, [&] { return sim::network_model(node.text()); });
}
void read_collective(const Yaml& node, Cell& cell) {
  cell.simulation.collective = at_node(node, [&] { return sim::collective(node.text()); });
}
void read_bucket(const Yaml& node, Cell& cell) {
  cell.simulation.bucket = node.bytes();
}

struct Key {
  const char* name;
  Reader read;
};

std::vector<Cell> times_each(std::vector<Cell> cells, const Yaml& mapping, std::initializer_list<Key> keys) {
  for (const auto& [name, read] : keys)
    if (const auto node = mapping.find(name)) cells = times(cells, name, *node, read);
  return cells;
}

}  // namespace

std::vector<Cell> read_axes(const Yaml& root) {
  std::vector<Cell> cells = times_each(
      {Cell{}}, root,
      {{"optimizer", read_optimizer}, {"compression", read_compression}, {"micro_batch", read_micro_batch}});
  const auto simulation = root.find("simulation");
  if (!simulation) return cells;
  simulation->only({"network", "collective", "bucket"});
  return times_each(std::move(cells), *simulation,
                    {{"network", read_network}, {"collective", read_collective}, {"bucket", read_bucket}});
}

}  // namespace penstock::experiment
