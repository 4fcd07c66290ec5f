#include "selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "at_node.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;
using core::Yaml;

/// Returns a text such as "llama hidden=256 layers=6", as in results.
std::string model_text(const plan::ModelRef& model) {
  if (!model.label.empty()) return model.label;
  std::string out = fs::path(model.name).stem().string();
  for (const auto& [name, value] : model.parameters) out += " " + name + "=" + value;
  return out;
}

Values values_of(const Cell& cell) {
  Values out = {{"model", model_text(cell.model)},
                {"cluster", scenario_name(cell)},
                {"devices", std::to_string(cell.cluster.devices)},
                {"mini_batch", std::to_string(cell.training.mini_batch)},
                {"planner", planner_name(cell)}};
  out.insert(cell.setting.begin(), cell.setting.end());
  return out;
}

std::vector<Values> values_of(const std::vector<Cell>& cells) {
  std::vector<Values> out;
  for (const Cell& cell : cells) out.push_back(values_of(cell));
  return out;
}

/// An item of include or exclude.
using Wanted = std::map<std::string, std::vector<std::string>>;

void check_axis(const std::string& key, const Values& known) {
  if (known.contains(key)) return;
  std::vector<std::string> keys;
  for (const auto& [name, unused] : known) keys.push_back(name);
  throw core::BadInput("the grid has no such axis; " + core::did_you_mean(key, keys));
}

Wanted read_item(const Yaml& node, const Values& known) {
  Wanted out;
  for (const auto& [key, value] : node.entries()) {
    at_node(value, [&, &axis = key] { check_axis(axis, known); });
    if (value.is_scalar())
      out[key] = {value.text()};
    else
      for (const Yaml& item : value.items()) out[key].push_back(item.text());
  }
  if (out.empty()) node.fail("expected at least one axis");
  return out;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// True if the model has the wanted name and all stated parameters.
bool names_model(const std::string& wanted, const std::string& model) {
  const auto said = words(wanted), has = words(model);
  return !said.empty() && said.front() == has.front() &&
         std::all_of(said.begin() + 1, said.end(),
                     [&](const std::string& word) { return std::ranges::count(has, word) > 0; });
}

bool fits(const Wanted& wanted, const Values& values) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& axis) {
    const std::string& value = values.at(axis.first);
    return std::ranges::any_of(axis.second, [&](const std::string& one) {
      return one == value || (axis.first == "model" && names_model(one, value));
    });
  });
}

/// Parses a text such as "model=mmt,devices=8".
Wanted read_item(std::string_view text, const Values& known) {
  Wanted out;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
    const std::string_view part = text.substr(0, end = text.find(','));
    const std::size_t equals = part.find('=');
    if (equals == part.npos) throw core::BadInput("expected AXIS=VALUE, several with commas between");
    const std::string key(part.substr(0, equals));
    check_axis(key, known);
    out[key].emplace_back(part.substr(equals + 1));
  }
  return out;
}

void add_fitting(const Wanted& wanted, const std::vector<Values>& grid, std::vector<bool>& out) {
  bool any = false;
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (fits(wanted, grid[i])) out[i] = any = true;
  if (!any) throw core::BadInput("no cell of the experiment has these values");
}

/// [cell] true if some item of the list matches it.
std::vector<bool> fitted(const Yaml& list, const std::vector<Values>& grid) {
  std::vector<bool> out(grid.size());
  for (const Yaml& node : list.items()) {
    const Wanted wanted = read_item(node, grid.front());
    at_node(node, [&] { add_fitting(wanted, grid, out); });
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

std::vector<bool> fitting(const std::vector<std::string>& texts, const std::vector<Cell>& cells) {
  std::vector<bool> out(cells.size(), texts.empty());
  const std::vector<Values> values = texts.empty() ? std::vector<Values>{} : values_of(cells);
  for (const std::string& text : texts) try {
      add_fitting(read_item(std::string_view(text), values.front()), values, out);
    } catch (const core::BadInput& e) {
      throw core::BadInput(fmt::format("--only {}: {}", text, e.what()));
    }
  return out;
}

std::vector<Cell> select(const Yaml& root, const std::vector<Cell>& grid) {
  const std::vector<bool> keep = wanted(root, values_of(grid));
  std::vector<Cell> out;
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (keep[i]) out.push_back(grid[i]);
  return out;
}

}  // namespace penstock::experiment
