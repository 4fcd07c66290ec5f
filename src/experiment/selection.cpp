#include "selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "penstock/core/spelling.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;
using core::Yaml;

Values values_of(const Cell& cell) {
  Values out = {{"model", fs::path(cell.model.name).stem().string()},
                {"cluster", world_name(cell)},
                {"devices", std::to_string(cell.cluster.devices)},
                {"mini_batch", std::to_string(cell.training.mini_batch)},
                {"planner", planners::written(cell.planner)}};
  out.insert(cell.setting.begin(), cell.setting.end());
  return out;
}

/// An item of include or exclude.
using Wanted = std::map<std::string, std::vector<std::string>>;

Wanted read_item(const Yaml& node, const Values& known) {
  Wanted out;
  for (const auto& [key, value] : node.entries()) {
    if (!known.contains(key)) {
      std::vector<std::string> keys;
      for (const auto& [name, unused] : known) keys.push_back(name);
      value.fail("the grid has no such axis; " + core::did_you_mean(key, keys));
    }
    if (value.is_scalar())
      out[key] = {value.text()};
    else
      for (const Yaml& item : value.items()) out[key].push_back(item.text());
  }
  if (out.empty()) node.fail("expected at least one axis");
  return out;
}

bool fits(const Wanted& wanted, const Values& values) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& axis) {
    return std::find(axis.second.begin(), axis.second.end(), values.at(axis.first)) != axis.second.end();
  });
}

/// [i]: whether some item of the list fits the i-th cell.
std::vector<bool> fitted(const Yaml& list, const std::vector<Values>& grid) {
  std::vector<bool> out(grid.size());
  for (const Yaml& node : list.items()) {
    const Wanted wanted = read_item(node, grid.front());
    bool any = false;
    for (std::size_t i = 0; i < grid.size(); ++i)
      if (fits(wanted, grid[i])) out[i] = any = true;
    if (!any) node.fail("no cell of the grid is like that");
  }
  return out;
}

}  // namespace

std::vector<bool> wanted(const Yaml& root, const std::vector<Values>& grid) {
  std::vector<bool> out(grid.size(), true);
  if (grid.empty()) return out;
  if (const auto include = root.find("include")) out = fitted(*include, grid);
  if (const auto exclude = root.find("exclude")) {
    const auto unwanted = fitted(*exclude, grid);
    for (std::size_t i = 0; i < grid.size(); ++i) out[i] = out[i] && !unwanted[i];
  }
  return out;
}

std::vector<Cell> select(const Yaml& root, const std::vector<Cell>& grid) {
  std::vector<Values> values;
  for (const Cell& cell : grid) values.push_back(values_of(cell));
  const std::vector<bool> keep = wanted(root, values);
  std::vector<Cell> out;
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (keep[i]) out.push_back(grid[i]);
  return out;
}

}  // namespace penstock::experiment
