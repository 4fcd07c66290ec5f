#pragma once
// Rows for slices that may overlap in time, without overlaps within a row. Private to the room.

#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::report {

/// Slices come sorted by start; each gets the first row that is free then, or a new one.
class FreeRows {
 public:
  std::size_t size() const { return busy_until_.size(); }

  std::size_t place(core::Picoseconds start, core::Picoseconds end) {
    std::size_t row = 0;
    while (row < busy_until_.size() && busy_until_[row] > start) ++row;
    if (row == busy_until_.size()) busy_until_.emplace_back();
    busy_until_[row] = end;
    return row;
  }

 private:
  std::vector<core::Picoseconds> busy_until_;
};

}  // namespace penstock::report
