#pragma once
// Which numbers of a tensor each device of a tensor-parallel group has.

#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::replay {

/// Columns [begin, end), of each span, of a matrix of rows x width, row after row.
struct Shard {
  struct Span {
    std::int64_t begin = 0, end = 0;
  };
  std::int64_t rows = 1, width = 0;
  std::vector<Span> spans{};  ///< ascending, apart
  std::int64_t count() const;
};

/// Calls visit(first, second, count) for every run of numbers that both have, of one tensor: where it begins
/// in each.
void each_common(const Shard& a, const Shard& b,
                 const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit);

/// Where the parts of the members begin, and the last one ends.
using Bounds = std::vector<std::int64_t>;

/// How a tensor is divided over the members of a group; a whole one is on every device. Differs from
/// layout::Placement in which columns there are: tensors sharded by features may be so in different ways,
/// between which the cost model sees no difference.
struct Sharding {
  layout::Placement placement = layout::Placement::replicate;
  std::int64_t rows = 1,
               width = 0;  ///< `features`: a sample, or a parameter, as a matrix; `tokens`: in a row
  /// `features`, `tokens`: of each section member m has the columns [bounds[m], bounds[m + 1]), as of tensors
  /// side by side that are divided each. `batch`: one, of shares of the samples, of which there are
  /// bounds.back().
  std::vector<Bounds> sections{};

  bool whole() const { return placement == layout::Placement::replicate; }
  /// Samples of which a member has something.
  std::int64_t samples(std::size_t member, std::int64_t all) const;
  /// What a member has of `samples` times `count` numbers.
  Shard shard(std::size_t member, std::int64_t samples, std::int64_t count) const;
  friend auto operator<=>(const Sharding&, const Sharding&) = default;
};

/// A tensor of so many numbers per sample, token after token, of which every member has as many.
Sharding sharded_by_tokens(std::int64_t count, std::size_t members);
/// The same as rows of `width` numbers, of which every member has as many.
Sharding sharded_by_columns(std::int64_t count, std::int64_t width, std::size_t members);

}  // namespace penstock::replay
