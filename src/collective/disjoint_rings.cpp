#include "penstock/collective/disjoint_rings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cycle_packing.hpp"
#include "ring.hpp"

namespace penstock::collective {
namespace {

/// The cables between the members of a group.
struct CableMatrix {
  CableWeights bandwidth;  ///< B/s, of the slower direction
  CableWeights latency;    ///< s, of the longer direction
};

bool has_cable(const cluster::Cluster& cluster, core::DeviceId a, core::DeviceId b) {
  return cluster.route(a, b).links.size() == 1 && cluster.route(b, a).links.size() == 1;
}

/// A ring enters and leaves its first member by cables; on a switch, this member has none.
bool first_has_two_cables(const cluster::Cluster& cluster, Group group) {
  int cables = 0;
  for (std::size_t i = 1; i < group.size() && cables < 2; ++i)
    cables += has_cable(cluster, group.front(), group[i]);
  return cables == 2;
}

CableMatrix cables_of(const cluster::Cluster& cluster, Group group) {
  const std::size_t n = group.size();
  CableMatrix out{CableWeights(n, std::vector<double>(n)), CableWeights(n, std::vector<double>(n))};
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      if (!has_cable(cluster, group[a], group[b])) continue;
      const cluster::Route there = cluster.route(group[a], group[b]),
                           back = cluster.route(group[b], group[a]);
      out.bandwidth[a][b] = out.bandwidth[b][a] = std::min(there.bandwidth, back.bandwidth).value();
      out.latency[a][b] = out.latency[b][a] = std::max(there.latency, back.latency).value();
    }
  return out;
}

/// Channels of `unit` bytes per second on each cable, at most 8.
CableWeights channels_of(const CableMatrix& cables, double unit) {
  constexpr double kRounding = 1e-9, kMostChannels = 8;
  CableWeights out = cables.bandwidth;
  for (auto& row : out)
    for (double& cable : row) cable = std::min(std::floor(cable / unit + kRounding), kMostChannels);
  return out;
}

/// Time of a step of these rings, which have equal shares of the bytes.
AffineTime step_of(const CableMatrix& cables, const std::vector<Members>& rings) {
  std::map<std::pair<std::size_t, std::size_t>, double> sent;  // {from, to}: rings over the cable
  for (const Members& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i) sent[{ring[i], ring[(i + 1) % ring.size()]}] += 1;
  AffineTime out;
  for (const auto& [ends, count] : sent) {
    const double share = count / static_cast<double>(rings.size());
    out.per_byte = std::max(out.per_byte, share / cables.bandwidth[ends.first][ends.second]);
    out.latency = std::max(out.latency, cables.latency[ends.first][ends.second]);
  }
  return out;
}

/// Each cycle in both directions.
std::vector<Members> both_ways(std::vector<Members> cycles) {
  const std::size_t count = cycles.size();
  for (std::size_t c = 0; c < count; ++c) cycles.emplace_back(cycles[c].rbegin(), cycles[c].rend());
  return cycles;
}

/// Bandwidths that a channel may have, largest first.
std::set<double, std::greater<>> units_of(const CableMatrix& cables) {
  std::set<double, std::greater<>> out;
  for (const auto& row : cables.bandwidth)
    for (const double bandwidth : row)
      for (int parts = 1; parts <= 4 && bandwidth > 0; ++parts) out.insert(bandwidth / parts);
  return out;
}

/// One pass of all rings at once: a reduce-scatter, or with `offset` 1 an all-gather behind it.
void rings_pass(MessageRounds& out, const std::vector<Members>& rings, std::int64_t bytes,
                std::size_t offset) {
  const Members all = everybody(rings.front().size());
  for (std::size_t step = 0; step + 1 < all.size(); ++step) {
    send_step(out, rings, all, bytes, offset, step);
    out.arrive();
  }
}

bool have_rings(const cluster::Cluster& cluster, Group group) {
  return !disjoint_rings(cluster, group).rings.empty();
}

/// Groups that run at once share no device. So they share no cable between members either, and other users of
/// the links do not count.
AffineTime group_time(const cluster::Cluster& cluster, Group group, PassCount passes, const Crowd&) {
  return rings_time(disjoint_rings(cluster, group), passes);
}

std::vector<Message> rings_messages(const cluster::Cluster& cluster, Group group, std::int64_t bytes) {
  const std::vector<Members> rings = disjoint_rings(cluster, group).rings;
  MessageRounds out(group.size());
  rings_pass(out, rings, bytes, 0);
  rings_pass(out, rings, bytes, 1);
  return out.take();
}

}  // namespace

void send_step(MessageRounds& out, const std::vector<Members>& rings, const Members& members,
               std::int64_t bytes, std::size_t offset, std::size_t step) {
  const std::size_t n = members.size();
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> sent;
  for (std::size_t r = 0; r < rings.size(); ++r)
    for (std::size_t i = 0; i < n; ++i)
      sent[{rings[r][i], rings[r][(i + 1) % n]}] +=
          part(part(bytes, rings.size(), r), n, (i + offset + 2 * n - step) % n);
  for (const auto& [ends, size] : sent) out.send(members[ends.first], members[ends.second], size);
}

std::int64_t reduced_bytes(const std::vector<Members>& rings, std::int64_t bytes, std::size_t member) {
  std::int64_t out = 0;
  for (std::size_t r = 0; r < rings.size(); ++r) {
    const std::size_t n = rings[r].size();
    const auto at = static_cast<std::size_t>(std::ranges::find(rings[r], member) - rings[r].begin());
    out += part(part(bytes, rings.size(), r), n, (at + 1) % n);
  }
  return out;
}

AffineTime rings_time(const DisjointRings& found, PassCount passes) {
  const double r = static_cast<double>(found.rings.front().size()), rounds = static_cast<int>(passes);
  return {rounds * (r - 1) * found.step.latency, rounds * (r - 1) / r * found.step.per_byte};
}

DisjointRings disjoint_rings(const cluster::Cluster& cluster, Group group) {
  DisjointRings best;
  if (group.size() < 3 || group.size() > kMostRingMembers || !first_has_two_cables(cluster, group))
    return best;
  const CableMatrix cables = cables_of(cluster, group);
  best.cut = min_cut(cables.bandwidth);
  if (!(best.cut > 0)) return best;
  for (const double unit : units_of(cables)) {
    const CableWeights channels = channels_of(cables, unit);
    constexpr double kMore = 1 + 1e-9;  // rings that gain only by rounding do not replace fewer ones
    if (unit * min_cut(channels) <= best.bandwidth() * kMore) continue;
    std::vector<Members> rings = both_ways(disjoint_cycles(channels));
    if (rings.empty()) continue;
    const AffineTime step = step_of(cables, rings);
    if (1 / step.per_byte > best.bandwidth() * kMore) best.rings = std::move(rings), best.step = step;
  }
  return best;
}

std::vector<Message> all_gather(const cluster::Cluster& cluster, Group group, std::int64_t bytes) {
  const DisjointRings found = disjoint_rings(cluster, group);
  const auto ring_seconds = [&] {
    return ring_time(cluster, group, PassCount::one, {}).at(core::Bytes(bytes));
  };
  if (found.rings.empty() || rings_time(found, PassCount::one).at(core::Bytes(bytes)) >= ring_seconds())
    return all_gather(group.size(), bytes);
  MessageRounds out(group.size());
  rings_pass(out, found.rings, bytes, 0);
  return out.take();
}

/// Edge-disjoint Hamiltonian cycles over the cables between members, both ways, as NCCL's search for channels
/// finds on a mesh of NVLink. 2(r-1) steps as in a ring, with bytes divided over all rings. Differs: NCCL
/// also pipelines chunks within a step.
constinit const Algorithm kDisjointRings{
    .name = "disjoint_rings",
    .applies = have_rings,
    .closed_form = group_time,
    .scatters = true,
    .messages = rings_messages,
};

}  // namespace penstock::collective
