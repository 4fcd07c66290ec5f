#pragma once
// The enumerations of Partition, shared by the solving and the tracing side.

#include <cmath>

#include "partition.hpp"

namespace penstock::planners {

template <class F>
bool Partition::each_choice(const StageSet& set, const cost::StageLoad& load, F&& f) const {
  const double work = table_.least_work(set);
  for (int c = 0; c < table_.configs(); ++c)
    for (int r = 0; r < static_cast<int>(table_.choices().replicas.size()); ++r) {
      const int replicas = table_.choices().replicas[static_cast<std::size_t>(r)];
      if (replicas * bound_ - work > slack_) break;  // wastes more device time than the bound leaves
      const double time = table_.time_per_sample(set, load, c, r);
      if (time > bound_ || std::isinf(time)) continue;  // the bound may be infinite itself
      const Level capacity = table_.capacity(load, c, r);
      if (capacity >= 0 && !f(c, replicas, capacity)) return false;
    }
  return true;
}

template <class F>
bool Partition::each_first_stage(Tail& tail, int p, const StageSet& with, F&& f) {
  const auto& elements = tail.sequence->elements;
  StageTable::Run run(table_, elements[static_cast<std::size_t>(p)].begin);
  for (int q = p + 1; q <= tail.end; ++q) {
    run.extend_to(elements[static_cast<std::size_t>(q) - 1].end);
    StageSet set = with;
    set.push_back(run.range());
    if (!with.empty()) set = merged(std::move(set));
    if (too_slow(set)) return true;  // and every longer run is slower still
    const cost::StageLoad& load = with.empty() ? run.load() : table_.load(set);
    if (!f(set, load, tail.from[static_cast<std::size_t>(q)], q, Piece{})) return false;
    if (q == tail.end || elements[static_cast<std::size_t>(q)].block < 0) continue;
    const int block_index = elements[static_cast<std::size_t>(q)].block;
    for (const Piece& piece : pieces(block_index, true)) {
      StageSet joined = set;
      for (const Range& part : piece_set(block_index, piece, true)) joined.push_back(part);
      joined = merged(std::move(joined));
      if (too_slow(joined)) continue;
      const LevelRow& downstream = opened(tail, q, piece);
      if (!downstream.empty() && !f(joined, table_.load(joined), downstream, q, piece)) return false;
    }
  }
  return true;
}

}  // namespace penstock::planners
