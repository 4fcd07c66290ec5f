#include "axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "at_node.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/schedule/catalogue.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;
using core::Yaml;
/// Reads the node's value into a cell.
using Reader = std::function<void(const Yaml&, Cell&)>;

/// Label of a value in one word: a mapping's values are joined ("gradients_0.1"); an empty one is "default".
std::string label(const Yaml& value) {
  std::string out = value.is_scalar() ? value.text() : "";
  std::replace(out.begin(), out.end(), ' ', '_');
  if (value.is_scalar()) return out;
  for (const auto& [key, inner] : value.entries())
    out += fmt::format("{}{}_{}", out.empty() ? "" : "_", key, inner.text());
  return out.empty() ? "default" : out;
}

/// Repeats each cell for each item of a list.
std::vector<Cell> times(const std::vector<Cell>& cells, const std::string& key, const Yaml& node,
                        const Reader& read) {
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
void read_precision(const Yaml& node, Cell& cell) {
  cell.training.precision = plan::read_precision(node);
}
void read_bucket(const Yaml& node, Cell& cell) {
  cell.training.bucket = node.bytes();
}
void read_runtime(const Yaml& node, Cell& cell) {
  at_node(node, [&] { return cluster::runtime(node.text()); });
  cell.cluster.runtime = node.text();
}
void read_for(const Yaml& node, Cell& cell) {
  const std::string name = node.text();
  if (name == "any") return;
  at_node(node, [&] { return frameworks::framework_named(name); });
  cell.runnable_by = name;
}
void read_micro_batch(const Yaml& node, Cell& cell) {
  cell.micro_batch = node.integer(1, plan::kMostSamples);
}
void read_pipeline_micro_batch(const Yaml& node, Cell& cell) {
  cell.pipeline_micro_batch = node.integer(1, plan::kMostSamples);
}
void read_search(const Yaml& node, Cell& cell) {
  constexpr std::int64_t kMost = 64;
  node.only({"per_stage_micro_batch", "any_degree", "k"});
  if (const auto each = node.find("per_stage_micro_batch")) cell.search.per_stage_micro_batch = each->flag();
  if (const auto any = node.find("any_degree")) cell.search.any_degree = any->flag();
  if (const auto k = node.find("k")) cell.search.k = static_cast<int>(k->integer(1, kMost));
}
/// Reads a schedule; "planned" means the schedule that the planner chose.
void read_schedule(const Yaml& node, const fs::path& folder, Cell& cell) {
  const std::string name = node.text();
  if (name == "planned") return;
  const bool file = is_order_file(name);
  if (!file) at_node(node, [&] { schedule::family_named(name); });
  cell.schedule = file ? (folder / name).lexically_normal().string() : name;
}
void read_network(const Yaml& node, Cell& cell) {
  cell.simulation.network = at_node(node, [&] { return sim::network_model(node.text()); });
}
void read_collective(const Yaml& node, Cell& cell) {
  cell.simulation.collective = at_node(node, [&] { return sim::collective(node.text()); });
}
void read_pass_collectives(const Yaml& node, Cell& cell) {
  cell.simulation.pass_collectives = at_node(node, [&] { return sim::pass_collectives(node.text()); });
}

struct AxisKey {
  const char* name;
  Reader read;
};

std::vector<Cell> times_each(std::vector<Cell> cells, const Yaml& mapping,
                             std::initializer_list<AxisKey> keys) {
  for (const auto& [name, read] : keys)
    if (const auto node = mapping.find(name)) cells = times(cells, name, *node, read);
  return cells;
}

}  // namespace

std::vector<Cell> read_axes(const Yaml& root, const fs::path& folder) {
  const Reader schedule = [&](const Yaml& node, Cell& cell) { read_schedule(node, folder, cell); };
  std::vector<Cell> cells = times_each({Cell{}}, root,
                                       {{"optimizer", read_optimizer},
                                        {"compression", read_compression},
                                        {"precision", read_precision},
                                        {"bucket", read_bucket},
                                        {"framework", read_runtime},
                                        {"runtime", read_runtime},
                                        {"for", read_for},
                                        {"micro_batch", read_micro_batch},
                                        {"pipeline_micro_batch", read_pipeline_micro_batch},
                                        {"search", read_search},
                                        {"schedule", schedule}});
  const auto simulation = root.find("simulation");
  if (!simulation) return cells;
  if (const auto bucket = simulation->find("bucket"))
    bucket->fail("a key of the experiment itself, beside simulation");
  simulation->only({"network", "collective", "pass_collectives"});
  return times_each(std::move(cells), *simulation,
                    {{"network", read_network},
                     {"collective", read_collective},
                     {"pass_collectives", read_pass_collectives}});
}

}  // namespace penstock::experiment
