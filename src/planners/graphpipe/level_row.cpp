#include "graphpipe/level_row.hpp"

#include <algorithm>

namespace penstock::planners {

void LevelRow::widen(int config, int low, int high) {
  if (data_.empty()) {
    data_.assign(span(configs_), kNoLevel);
    for (int c = 0; c < configs_; ++c) {
      data_[span(c)] = width_;
      data_[span(c) + 1] = -1;
    }
  }
  Level* ends = &data_[span(config)];
  ends[0] = std::min(ends[0], low);
  ends[1] = std::max(ends[1], high);
}

void LevelRow::lower_by(const LevelRow& source, int shift) {
  for (int c = 0; c < configs_; ++c) {
    const int first = source.low(c), last = std::min(source.high(c), devices() - shift);
    if (first > last) continue;
    widen(c, first + shift, last + shift);
    const Level* in = source.cells(c);
    Level* out = cells(c) + shift;
    for (int d = first; d <= last; ++d) out[d] = std::min(out[d], in[d]);
  }
}

void LevelRow::lower_by_stage(int to, const LevelRow& source, int from, int replicas, const LevelStep& step,
                              Level capacity) {
  const int first = source.low(from), last = std::min(source.high(from), devices() - replicas);
  const Level largest = step.largest_source(capacity);
  if (first > last || largest < 0) return;
  widen(to, first + replicas, last + replicas);
  const Level* in = source.cells(from);
  Level* out = cells(to) + replicas;
  if (step.run == 1) {  // without rounding the loop becomes vector instructions
    for (int d = first; d <= last; ++d) {
      const Level raised = std::min(in[d] + step.add, step.most);
      out[d] = std::min(out[d], in[d] <= largest ? raised : kNoLevel);
    }
  } else {
    for (int d = first; d <= last; ++d)
      if (in[d] <= largest) out[d] = std::min(out[d], step.after(in[d]));
  }
}

void LevelRow::lower_side_by_side(const LevelRow& a, const LevelRow& b) {
  for (int c = 0; c < a.configs(); ++c)
    for (int d = a.low(c); d <= a.high(c); ++d) {
      const Level level = a.cell(c, d);
      const int first = b.low(c), last = std::min(b.high(c), devices() - d);
      if (level >= kNoLevel || first > last) continue;
      widen(c, d + first, d + last);
      const Level* in = b.cells(c);
      Level* out = cells(c) + d;
      for (int e = first; e <= last; ++e) out[e] = std::min(out[e], std::max(level, in[e]));
    }
}

}  // namespace penstock::planners
