#pragma once
// What is kept of a finished cell, and its file form.

#include <optional>
#include <string>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

/// Enough to write all files of a cell. Without a plan the texts are empty.
struct Entry {
  report::CellResult row;
  std::string plan;      ///< YAML
  std::string trace;     ///< Perfetto's native form
  std::string timeline;  ///< SVG
};

Entry entry_of(const Snapshot& inputs, const Cell& cell, const CellOutcome& outcome);

/// The key, each part with its length, and a digest of all that.
std::string encode(const Entry& entry, const std::string& key);
/// Nothing for text that encode did not make with this key, or that is not whole.
std::optional<Entry> decode(const std::string& text, const std::string& key);

}  // namespace penstock::experiment
