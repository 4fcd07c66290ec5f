#include "graphpipe/stage_set.hpp"

#include <algorithm>

namespace penstock::planners {

StageSet merged(StageSet parts) {
  std::sort(parts.begin(), parts.end());
  StageSet out;
  for (const PositionRange& part : parts) {
    if (part.begin == part.end) continue;
    if (!out.empty() && out.back().end == part.begin)
      out.back().end = part.end;
    else
      out.push_back(part);
  }
  return out;
}

StageSet joined(const StageSet& a, const StageSet& b) {
  if (a.empty()) return b;
  StageSet parts = a;
  parts.insert(parts.end(), b.begin(), b.end());
  return merged(std::move(parts));
}

}  // namespace penstock::planners
