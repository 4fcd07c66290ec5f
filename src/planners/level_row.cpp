#include "level_row.hpp"

#include <algorithm>

namespace penstock::planners {

bool LevelRow::empty() const {
  for (int c = 0; c < configs_; ++c)
    if (low(c) <= high(c)) return false;
  return true;
}

void LevelRow::lower_by(const LevelRow& source, int shift) {
  for (int c = 0; c < configs_; ++c) {
    const int last = std::min(source.high(c), devices() - shift);
    for (int d = source.low(c); d <= last; ++d) {
      Level& here = cells_[index(c, d + shift)];
      here = std::min(here, source.cells_[source.index(c, d)]);
    }
    if (source.low(c) <= last) widen(c, source.low(c) + shift, last + shift);
  }
}

void LevelRow::lower_by_stage(int to, const LevelRow& source, int from, int replicas, const LevelStep& step,
                              Level capacity) {
  const int first = source.low(from), last = std::min(source.high(from), devices() - replicas);
  const Level largest = step.largest_source(capacity);
  if (first > last || largest < 0) return;
  const Level* in = &source.cells_[source.index(from, 0)];
  Level* out = &cells_[index(to, replicas)];
  if (step.run == 1) {  // no rounding: the loop becomes vector instructions
    for (int d = first; d <= last; ++d) {
      const Level raised = std::min(in[d] + step.add, step.most);
      out[d] = std::min(out[d], in[d] <= largest ? raised : kNoLevel);
    }
  } else {
    for (int d = first; d <= last; ++d)
      if (in[d] <= largest) out[d] = std::min(out[d], step.after(in[d]));
  }
  widen(to, first + replicas, last + replicas);
}

void LevelRow::lower_side_by_side(const LevelRow& a, const LevelRow& b) {
  for (int c = 0; c < a.configs(); ++c)
    for (int d = a.low(c); d <= a.high(c); ++d) {
      const Level level = a.cell(c, d);
      const int last = std::min(b.high(c), devices() - d);
      if (level >= kNoLevel || b.low(c) > last) continue;
      const Level* in = &b.cells_[b.index(c, 0)];
      Level* out = &cells_[index(c, d)];
      for (int e = b.low(c); e <= last; ++e) out[e] = std::min(out[e], std::max(level, in[e]));
      widen(c, d + b.low(c), d + last);
    }
}

}  // namespace penstock::planners
