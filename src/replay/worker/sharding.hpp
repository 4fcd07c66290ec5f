#pragma once
// Numbers of a tensor that each device of a tensor-parallel group has.

#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::replay {

/// Columns [begin, end), of each span, of a row-major matrix of rows x width.
struct TensorShard {
  struct ColumnSpan {
    std::int64_t begin = 0, end = 0;
  };
  std::int64_t rows = 1, width = 0;
  std::vector<ColumnSpan> spans{};  ///< ascending, disjoint
  std::int64_t count() const;
};

/// Calls visit(first, second, count) for every run of numbers that both shards have of one tensor: its start
/// in each, and its length.
void each_common(const TensorShard& a, const TensorShard& b,
                 const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit);

/// Begin of each member's part, and end of the last one.
using Bounds = std::vector<std::int64_t>;

/// Division of a tensor over the members of a group; a whole one is on every device. Differs from
/// layout::Placement: it states the columns. Tensors sharded by features may differ in them, which the cost
/// model does not distinguish.
struct TensorSharding {
  layout::Placement placement = layout::Placement::replicate;
  std::int64_t rows = 1,
               width = 0;  ///< `features`: a sample or a parameter as a matrix; `tokens`: as one row
  /// `features`, `tokens`: member m has the columns [bounds[m], bounds[m + 1]) of each section; tensors side
  /// by side are separate sections. `batch`: one section, with shares of the samples, bounds.back() in total.
  std::vector<Bounds> sections{};

  bool whole() const { return placement == layout::Placement::replicate; }
  /// Number of samples of which a member has a part.
  std::int64_t samples(std::size_t member, std::int64_t all) const;
  /// Shard of a member, of `samples` times `count` numbers.
  TensorShard shard(std::size_t member, std::int64_t samples, std::int64_t count) const;
  friend auto operator<=>(const TensorSharding&, const TensorSharding&) = default;
};

/// Sharding of a tensor of `count` numbers per sample, token after token; members have equal parts.
TensorSharding sharded_by_tokens(std::int64_t count, std::size_t members);
/// Sharding of the tensor as rows of `width` numbers; members have equal parts.
TensorSharding sharded_by_columns(std::int64_t count, std::int64_t width, std::size_t members);

}  // namespace penstock::replay
