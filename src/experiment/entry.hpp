#pragma once
// Stored form of a finished cell.

#include <optional>
#include <string>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

/// Content of all files of a cell. Without a plan the texts are empty.
struct CacheEntry {
  report::CellResult row;
  std::string plan;      ///< YAML
  std::string trace;     ///< native form of Perfetto
  std::string timeline;  ///< SVG
};

CacheEntry entry_of(const InputSnapshot& inputs, const Cell& cell, const CellOutcome& outcome);

/// Encodes the key, each part with its length, and a digest of everything.
std::string encode(const CacheEntry& entry, const std::string& key);
/// Returns nothing for text that encode did not make with this key, or that is incomplete.
std::optional<CacheEntry> decode(const std::string& text, const std::string& key);

}  // namespace penstock::experiment
