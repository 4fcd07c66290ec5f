#include <bit>

#include "ring.hpp"

namespace penstock::collective {
namespace {

/// Closed form, for a tree in which member i's parent is (i - 1) / 2.
AffineTime time(const cluster::Cluster& cluster, Group group, PassCount, const Crowd& crowd) {
  StepTime step;
  for (std::size_t i = 1; i < group.size(); ++i)
    step.include(cluster, cluster.route(group[i], group[(i - 1) / 2]), crowd);
  const double steps = 2.0 * static_cast<double>(std::bit_width(group.size() - 1));
  return {steps * step.latency, steps * step.per_byte};
}

std::vector<Message> messages(const cluster::Cluster&, Group group, std::int64_t bytes) {
  const auto level = [](std::size_t i) { return static_cast<int>(std::bit_width(i + 1)); };
  const std::size_t n = group.size();
  const int deepest = level(n - 1);
  MessageRounds out(n);
  for (int l = deepest; l > 1; --l) {  // sums go up
    for (std::size_t i = 1; i < n; ++i)
      if (level(i) == l) out.send(i, (i - 1) / 2, bytes);
    out.arrive();
  }
  for (int l = 2; l <= deepest; ++l) {  // and return down
    for (std::size_t i = 1; i < n; ++i)
      if (level(i) == l) out.send((i - 1) / 2, i, bytes);
    out.arrive();
  }
  return out.take();
}

}  // namespace

/// Reduce and broadcast along a binary tree (Thakur, Rabenseifner, Gropp, IJHPCA 2005), 2 * ceil(log2 r)
/// steps of all bytes. Differs: the tree is a heap, not binomial.
constinit const Algorithm kTree{
    .name = "tree",
    .applies = nullptr,
    .closed_form = time,
    .scatters = false,
    .messages = messages,
};

}  // namespace penstock::collective
