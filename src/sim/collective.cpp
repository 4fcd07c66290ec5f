#include "collective.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "penstock/cost/communication.hpp"

namespace penstock::sim {
namespace {

using Group = std::vector<core::DeviceId>;
using Members = std::vector<std::size_t>;  ///< indices into a group

std::int64_t part(std::int64_t bytes, std::size_t n, std::size_t i) {
  return nearly_equal_part(bytes, static_cast<std::int64_t>(n), static_cast<std::int64_t>(i));
}

class Messages {
 public:
  explicit Messages(std::size_t group) : arrived_(group) {}

  /// Waits for all that has arrived at the sender so far, and for its own earlier message to the receiver.
  void send(std::size_t from, std::size_t to, std::int64_t bytes) {
    Message message{from, to, bytes, {}};
    for (const auto& [sender, last] : arrived_[from]) message.after.push_back(last);
    if (const auto own = arrived_[to].find(from); own != arrived_[to].end())
      message.after.push_back(own->second);
    pending_.push_back(std::move(message));
  }

  /// Sends since the last call are under way at once; what follows may build on them.
  void arrive() {
    for (Message& message : pending_) {
      arrived_[message.to][message.from] = out_.size();
      out_.push_back(std::move(message));
    }
    pending_.clear();
  }
  std::vector<Message> take() { return std::move(out_); }

 private:
  std::vector<Message> out_, pending_;
  std::vector<std::map<std::size_t, std::size_t>> arrived_;  ///< [member] the last message of each sender
};

/// `passes` 1: reduce-scatter or all-gather; member i ends with, or starts from, part i.
void ring_pass(Messages& out, const Members& ring, std::int64_t bytes, std::size_t offset) {
  const std::size_t n = ring.size();
  for (std::size_t step = 0; step + 1 < n; ++step) {
    for (std::size_t i = 0; i < n; ++i)
      out.send(ring[i], ring[(i + 1) % n], part(bytes, n, (i + offset + 2 * n - step) % n));
    out.arrive();
  }
}

void ring(Messages& out, const Members& members, std::int64_t bytes) {
  if (members.size() < 2) return;
  ring_pass(out, members, bytes, 0);
  ring_pass(out, members, bytes, 1);
}

/// Member i's parent is (i - 1) / 2, as in cost::all_reduce.
void tree(Messages& out, const Members& members, std::int64_t bytes) {
  const auto level = [](std::size_t i) { return static_cast<int>(std::bit_width(i + 1)); };
  const std::size_t n = members.size();
  const int deepest = level(n - 1);
  for (int l = deepest; l > 1; --l) {
    for (std::size_t i = 1; i < n; ++i)
      if (level(i) == l) out.send(members[i], members[(i - 1) / 2], bytes);
    out.arrive();
  }
  for (int l = 2; l <= deepest; ++l) {
    for (std::size_t i = 1; i < n; ++i)
      if (level(i) == l) out.send(members[(i - 1) / 2], members[i], bytes);
    out.arrive();
  }
}

void exchange(Messages& out, const Members& members, std::size_t count, std::size_t distance,
              std::int64_t bytes) {
  for (std::size_t i = 0; i < count; ++i) out.send(members[i], members[i ^ distance], bytes);
  out.arrive();
}

void halving_doubling(Messages& out, const Members& members, std::int64_t bytes) {
  const std::size_t count = std::bit_floor(members.size());
  for (std::size_t i = count; i < members.size(); ++i) out.send(members[i], members[i - count], bytes);
  out.arrive();
  std::vector<std::int64_t> sizes;  // of each halving, rounded up
  std::int64_t size = bytes;
  for (std::size_t distance = count / 2; distance > 0; distance /= 2) {
    size = (size + 1) / 2;
    sizes.push_back(size);
    exchange(out, members, count, distance, size);
  }
  for (std::size_t distance = 1; distance < count; distance *= 2) {
    exchange(out, members, count, distance, sizes.back());
    sizes.pop_back();
  }
  for (std::size_t i = count; i < members.size(); ++i) out.send(members[i - count], members[i], bytes);
  out.arrive();
}

std::vector<Members> by_node(const cluster::Cluster& cluster, const Group& group) {
  std::map<int, Members> nodes;
  for (std::size_t i = 0; i < group.size(); ++i) nodes[cluster.node(group[i])].push_back(i);
  std::vector<Members> out;
  for (auto& [node, members] : nodes) out.push_back(std::move(members));
  return out;
}

bool balanced(const std::vector<Members>& nodes) {
  return nodes.size() > 1 && nodes.front().size() > 1 &&
         std::all_of(nodes.begin(), nodes.end(),
                     [&](const Members& n) { return n.size() == nodes.front().size(); });
}

/// All nodes at once, all rings of shards at once.
void hierarchical(Messages& out, const std::vector<Members>& nodes, std::int64_t bytes) {
  const std::size_t local = nodes.front().size();
  const auto inside = [&](std::size_t offset) {
    for (std::size_t step = 0; step + 1 < local; ++step) {
      for (const Members& node : nodes)
        for (std::size_t i = 0; i < local; ++i)
          out.send(node[i], node[(i + 1) % local],
                   part(bytes, local, (i + offset + 2 * local - step) % local));
      out.arrive();
    }
  };
  inside(0);
  const std::size_t n = nodes.size();
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    for (std::size_t i = 0; i < local; ++i)
      for (std::size_t k = 0; k < n; ++k)
        out.send(nodes[k][i], nodes[(k + 1) % n][i],
                 part(part(bytes, local, (i + 1) % local), n,
                      (k + (step < n - 1 ? 0 : 1) + 3 * n - step % (n - 1)) % n));
    out.arrive();
  }
  inside(1);
}

Collective cheapest(const cluster::Cluster& cluster, const Group& group, std::int64_t bytes) {
  const cost::AllReduce forms = cost::all_reduce(cluster, group);
  constexpr std::array kOrder = {Collective::ring, Collective::tree, Collective::hierarchical};
  std::size_t best = 0;
  for (std::size_t i = 1; i < forms.algorithms.size(); ++i)
    if (forms.algorithms[i].at(core::Bytes(bytes)) < forms.algorithms[best].at(core::Bytes(bytes))) best = i;
  return kOrder[best];
}

}  // namespace

std::vector<Message> all_reduce_messages(Collective collective, const cluster::Cluster& cluster,
                                         const Group& group, std::int64_t bytes) {
  if (collective == Collective::automatic) collective = cheapest(cluster, group, bytes);
  Members all(group.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  Messages out(group.size());
  const auto nodes = by_node(cluster, group);
  if (collective == Collective::tree)
    tree(out, all, bytes);
  else if (collective == Collective::halving_doubling)
    halving_doubling(out, all, bytes);
  else if (collective == Collective::hierarchical && balanced(nodes))
    hierarchical(out, nodes, bytes);
  else
    ring(out, all, bytes);
  return out.take();
}

std::vector<Message> all_gather_messages(std::size_t members, std::int64_t bytes) {
  Members all(members);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  Messages out(members);
  ring_pass(out, all, bytes, 0);
  return out.take();
}

}  // namespace penstock::sim
