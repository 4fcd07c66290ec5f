#include "short_models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace penstock::report {
namespace {

/// Splits "llama layers=2 hidden=64" into words.
std::vector<std::string> words_of(const std::string& model) {
  std::istringstream in(model);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// True if the words after the first are parameters; a label may contain blanks.
bool has_parameters(const std::vector<std::string>& words) {
  return words.size() > 1 && std::all_of(words.begin() + 1, words.end(),
                                         [](const std::string& word) { return word.find('=') != word.npos; });
}

struct ModelRows {
  std::size_t rows = 0;
  std::vector<std::string> shared;  ///< parameters common to all of them
};

std::map<std::string, ModelRows> grouped(std::span<const CellResult> rows) {
  std::map<std::string, ModelRows> out;
  for (const CellResult& row : rows) {
    const auto words = words_of(row.model);
    if (!has_parameters(words)) continue;
    ModelRows& group = out[words.front()];
    if (group.rows++ == 0)
      group.shared.assign(words.begin() + 1, words.end());
    else
      std::erase_if(group.shared,
                    [&](const std::string& word) { return std::ranges::find(words, word) == words.end(); });
  }
  return out;
}

}  // namespace

ShortModels short_models(std::span<const CellResult> rows) {
  const auto groups = grouped(rows);
  ShortModels out;
  for (const auto& [name, group] : groups)
    if (group.rows > 1 && !group.shared.empty())
      out.common += fmt::format("{}: {}\n", name, fmt::join(group.shared, " "));
  for (const CellResult& row : rows) {
    auto words = words_of(row.model);
    const auto group = has_parameters(words) ? groups.find(words.front()) : groups.end();
    if (group == groups.end() || group->second.rows == 1) {
      out.names.push_back(row.model);
      continue;
    }
    std::erase_if(words, [&](const std::string& word) {
      return std::ranges::find(group->second.shared, word) != group->second.shared.end();
    });
    out.names.push_back(fmt::format("{}", fmt::join(words, " ")));
  }
  return out;
}

}  // namespace penstock::report
