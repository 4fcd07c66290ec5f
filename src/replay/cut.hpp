#pragma once
// Which numbers of a tensor each device of a tensor-parallel group has.

#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::replay {

/// Columns [begin, end) of a matrix of rows x width, row after row.
struct Strip {
  std::int64_t rows = 1, width = 0, begin = 0, end = 0;
  std::int64_t count() const { return rows * (end - begin); }
};

/// Calls visit(first, second, count) for every run of numbers that both have, of one tensor: where it begins
/// in each.
void each_common(const Strip& a, const Strip& b,
                 const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit);

/// The strip's numbers of all.
std::vector<double> taken(const Strip& strip, const std::vector<double>& all);

/// A tensor that is whole lies so on every device. Differs from cost::Layout in which columns there are:
/// tensors divided by features may be cut in different ways, between which the cost model sees no difference.
struct Cut {
  cost::Layout layout = cost::Layout::whole;
  std::int64_t rows = 1, width = 0;    ///< `features`: a sample, or a parameter, as a matrix
  std::vector<std::int64_t> bounds{};  ///< `features`: member m has columns [bounds[m], bounds[m + 1]);
                                       ///< `batch`: its samples, where there are bounds.back()

  bool whole() const { return layout == cost::Layout::whole; }
  /// Samples of which a member has something.
  std::int64_t samples(std::size_t member, std::int64_t all) const;
  /// What a member has of `samples` times `count` numbers.
  Strip strip(std::size_t member, std::int64_t samples, std::int64_t count) const;
  friend auto operator<=>(const Cut&, const Cut&) = default;
};

}  // namespace penstock::replay
