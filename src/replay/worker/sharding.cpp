#include "worker/sharding.hpp"

#include <algorithm>

namespace penstock::replay {
namespace {

/// Iterates over the runs of a shard.
class ShardRuns {
 public:
  explicit ShardRuns(const TensorShard& shard) : shard_(shard) { skip(); }
  bool over() const { return row_ == shard_.rows; }
  std::int64_t first() const { return row_ * shard_.width + span().begin; }  ///< index in the tensor
  std::int64_t end() const { return row_ * shard_.width + span().end; }
  /// Index in the shard.
  std::int64_t place(std::int64_t number) const { return before_ + number - first(); }
  void next() {
    before_ += span().end - span().begin;
    ++at_;
    skip();
  }

 private:
  const TensorShard::ColumnSpan& span() const { return shard_.spans[at_]; }
  /// Goes to the next span that has columns.
  void skip() {
    for (; row_ < shard_.rows; ++row_, at_ = 0)
      for (; at_ < shard_.spans.size(); ++at_)
        if (span().begin < span().end) return;
  }

  const TensorShard& shard_;
  std::int64_t row_ = 0, before_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

void each_common(const TensorShard& a, const TensorShard& b,
                 const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  ShardRuns x(a), y(b);
  while (!x.over() && !y.over()) {
    const std::int64_t begin = std::max(x.first(), y.first()), end = std::min(x.end(), y.end());
    if (begin < end) visit(x.place(begin), y.place(begin), end - begin);
    if (x.end() <= y.end())
      x.next();
    else
      y.next();
  }
}

std::int64_t TensorShard::count() const {
  std::int64_t columns = 0;
  for (const ColumnSpan& span : spans) columns += span.end - span.begin;
  return rows * columns;
}

std::int64_t TensorSharding::samples(std::size_t member, std::int64_t all) const {
  if (placement != layout::Placement::shard_batch) return all;
  const Bounds& bounds = sections.front();
  return all * bounds[member + 1] / bounds.back() - all * bounds[member] / bounds.back();
}

TensorShard TensorSharding::shard(std::size_t member, std::int64_t samples, std::int64_t count) const {
  if (placement == layout::Placement::shard_features || placement == layout::Placement::shard_tokens) {
    TensorShard out{samples * rows, width};
    for (const Bounds& bounds : sections) out.spans.push_back({bounds[member], bounds[member + 1]});
    return out;
  }
  if (whole()) return {1, samples * count, {{0, samples * count}}};
  const Bounds& bounds = sections.front();
  return {1,
          samples * count,
          {{samples * bounds[member] / bounds.back() * count,
            samples * bounds[member + 1] / bounds.back() * count}}};
}

namespace {

Bounds even(std::int64_t count, std::size_t members) {
  Bounds out;
  for (std::size_t m = 0; m <= members; ++m)
    out.push_back(count * static_cast<std::int64_t>(m) / static_cast<std::int64_t>(members));
  return out;
}

}  // namespace

TensorSharding sharded_by_tokens(std::int64_t count, std::size_t members) {
  return {layout::Placement::shard_tokens, 1, count, {even(count, members)}};
}

TensorSharding sharded_by_columns(std::int64_t count, std::int64_t width, std::size_t members) {
  return {layout::Placement::shard_features, count / width, width, {even(width, members)}};
}

}  // namespace penstock::replay
