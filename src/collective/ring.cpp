#include "ring.hpp"

#include <numeric>

namespace penstock::collective {

Members everybody(std::size_t n) {
  Members out(n);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

void ring_pass(MessageRounds& out, const Members& ring, std::int64_t bytes, std::size_t offset) {
  const std::size_t n = ring.size();
  for (std::size_t step = 0; step + 1 < n; ++step) {
    for (std::size_t i = 0; i < n; ++i)
      out.send(ring[i], ring[(i + 1) % n], part(bytes, n, (i + offset + 2 * n - step) % n));
    out.arrive();
  }
}

AffineTime ring_time(const cluster::Cluster& cluster, Group group, PassCount passes, const Crowd& crowd) {
  StepTime step;
  for (std::size_t i = 0; i < group.size(); ++i)
    step.include(cluster, cluster.route(group[i], group[(i + 1) % group.size()]), crowd);
  const double r = static_cast<double>(group.size()), rounds = static_cast<int>(passes);
  return {rounds * (r - 1) * step.latency, rounds * (r - 1) / r * step.per_byte};
}

std::vector<Message> ring_messages(const cluster::Cluster&, Group group, std::int64_t bytes) {
  if (group.size() < 2) return {};
  MessageRounds out(group.size());
  const Members all = everybody(group.size());
  // Reduce-scatter: member i ends with the sum of part i + 1.
  ring_pass(out, all, bytes, 0);
  // All-gather of these sums.
  ring_pass(out, all, bytes, 1);
  return out.take();
}

std::vector<Message> all_gather(std::size_t members, std::int64_t bytes) {
  MessageRounds out(members);
  ring_pass(out, everybody(members), bytes, 0);
  return out.take();
}

/// 2(r-1) steps of bytes/r over the slowest route between neighbours (Patarasuk and Yuan, JPDC 2009).
constinit const Algorithm kRing{
    .name = "ring",
    .applies = nullptr,
    .closed_form = ring_time,
    .scatters = true,
    .messages = ring_messages,
};

}  // namespace penstock::collective
