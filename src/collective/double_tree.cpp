#include <algorithm>

#include "ring.hpp"

namespace penstock::collective {
namespace {

/// Parent in a binary tree of n members whose leaves are the odd ones. The parent of 1 and 3 is 2, that of 5
/// and 7 is 6. The parent of 2 and 6 is 4, and that of 4 is the root 0, which is its own parent.
std::size_t parent(std::size_t i, std::size_t n) {
  const std::size_t bit = i & (~i + 1);
  const std::size_t up = (i ^ bit) | (bit << 1);
  return up < n ? up : i ^ bit;
}

/// Parent in the other tree, whose leaves are the inner members of the first one. This tree is mirrored, or
/// shifted by one if the number of members is odd.
std::size_t other_parent(std::size_t i, std::size_t n) {
  return n % 2 == 0 ? n - 1 - parent(n - 1 - i, n) : (parent((i + n - 1) % n, n) + 1) % n;
}

/// One tree, and the bytes that it sums.
struct ReductionTree {
  std::vector<std::size_t> parent, depth;  ///< [member]; a root is its own parent
  std::int64_t bytes;
};

ReductionTree tree(std::size_t n, std::size_t (*parent_of)(std::size_t, std::size_t), std::int64_t bytes) {
  ReductionTree out{{}, std::vector<std::size_t>(n), bytes};
  for (std::size_t i = 0; i < n; ++i) out.parent.push_back(parent_of(i, n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t at = i; out.parent[at] != at; at = out.parent[at]) ++out.depth[i];
  return out;
}

std::vector<Message> both_trees(const cluster::Cluster&, Group group, std::int64_t bytes) {
  const std::size_t n = group.size();
  MessageRounds out(n);
  if (n < 2) return out.take();
  const ReductionTree trees[] = {tree(n, parent, part(bytes, 2, 0)),
                                 tree(n, other_parent, part(bytes, 2, 1))};
  std::size_t deepest = 0;
  for (const ReductionTree& each : trees) deepest = std::max(deepest, *std::ranges::max_element(each.depth));
  const auto level = [&](std::size_t depth, bool up) {
    for (const ReductionTree& each : trees)
      for (std::size_t i = 0; i < n; ++i)
        if (each.depth[i] == depth) out.send(up ? i : each.parent[i], up ? each.parent[i] : i, each.bytes);
    out.arrive();
  };
  for (std::size_t depth = deepest; depth > 0; --depth) level(depth, true);    // sums go up
  for (std::size_t depth = 1; depth <= deepest; ++depth) level(depth, false);  // and return down
  return out.take();
}

}  // namespace

/// Two binary trees that sum half of the bytes each (Sanders, Speck, Träff, Parallel Computing 35, 2009;
/// NCCL's trees). An inner member of one tree is a leaf of the other, so every cable is used in both
/// directions. Difference: halves are not cut into chunks that follow each other, so a level waits for the
/// one before.
constinit const Algorithm kDoubleTree{
    .name = "double_tree",
    .applies = nullptr,
    .closed_form = nullptr,
    .scatters = false,
    .messages = both_trees,
};

}  // namespace penstock::collective
