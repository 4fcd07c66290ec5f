#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "support/random_network.hpp"

using namespace penstock;
using core::DeviceId;

namespace {

/// The slow twin: breadth first from each device over the whole network. Last link to each point; -1 none.
std::vector<int> searched(const support::RandomNetwork& network, std::size_t source) {
  std::vector<int> last(network.points, -1);
  std::deque<std::size_t> frontier{source};
  while (!frontier.empty()) {
    const std::size_t at = frontier.front();
    frontier.pop_front();
    for (std::size_t l = 0; l < network.links.size(); ++l) {
      const cluster::Link& link = network.links[l];
      if (link.from != at || link.to == source || last[link.to] >= 0) continue;
      last[link.to] = static_cast<int>(l);
      frontier.push_back(link.to);
    }
  }
  return last;
}

std::vector<std::size_t> searched_way(const support::RandomNetwork& network, std::size_t from,
                                      std::size_t to) {
  const std::vector<int> last = searched(network, from);
  std::vector<std::size_t> links;
  for (std::size_t p = to; p != from; p = network.links[links.back()].from)
    links.push_back(static_cast<std::size_t>(last[p]));
  std::reverse(links.begin(), links.end());
  return links;
}

/// The message of the first pair without a way; empty: all have one.
std::string gap(const support::RandomNetwork& network) {
  for (std::size_t a = 0; a < network.devices; ++a) {
    const std::vector<int> last = searched(network, a);
    for (std::size_t b = 0; b < network.devices; ++b)
      if (a != b && last[b] < 0)
        return "no path from device " + std::to_string(a) + " to device " + std::to_string(b);
  }
  return "";
}

void agree(const support::RandomNetwork& network) {
  const cluster::Cluster built = network.cluster();
  for (std::size_t a = 0; a < network.devices; ++a)
    for (std::size_t b = 0; b < network.devices; ++b)
      if (a != b) REQUIRE(built.route(DeviceId(a), DeviceId(b)).links == searched_way(network, a, b));
}

}  // namespace

TEST_CASE("routes equal a search of the whole network: trees, meshes, cables one way or side by side") {
  core::Random random(5);
  for (int i = 0; i < 300; ++i) {
    agree(support::random_tree(random));
    agree(support::random_mesh(random));
  }
}

TEST_CASE("routes equal a search on rails, where routes of similar devices differ only at their own nodes") {
  constexpr std::size_t kNodes = 120, kEach = 4, kDevices = kNodes * kEach;
  support::RandomNetwork network{.devices = kDevices, .points = kDevices + kNodes + kEach, .links = {}};
  for (std::size_t d = 0; d < kDevices; ++d)
    for (const std::size_t by : {kDevices + d / kEach, kDevices + kNodes + d % kEach}) {
      network.links.push_back({d, by, core::Bandwidth(1e9), core::Seconds(1e-6)});
      network.links.push_back({by, d, core::Bandwidth(1e9), core::Seconds(1e-6)});
    }
  const cluster::Cluster built = network.cluster();
  for (const std::size_t a : {0, 1, 4, 57, 479})
    for (std::size_t b = 0; b < kDevices; b += b < 12 ? 1 : 7)
      if (a != b) REQUIRE(built.route(DeviceId(a), DeviceId(b)).links == searched_way(network, a, b));
}

TEST_CASE("routes equal a search over switches with more links than a byte can count") {
  support::RandomNetwork network{.devices = 260, .points = 263, .links = {}};
  const auto cable = [&](std::size_t a, std::size_t b) {
    for (const auto& [from, to] : {std::pair{a, b}, {b, a}})
      network.links.push_back({from, to, core::Bandwidth(1e9), core::Seconds(1e-6)});
  };
  for (std::size_t d = 0; d < network.devices; ++d) cable(d, 260 + d % 2), cable(d, 262);
  const cluster::Cluster built = network.cluster();
  for (const std::size_t a : {0, 1, 2, 130, 257, 258, 259})
    for (const std::size_t b : {0, 1, 3, 128, 255, 256, 259})
      if (a != b) CHECK(built.route(DeviceId(a), DeviceId(b)).links == searched_way(network, a, b));
}

TEST_CASE("with links taken away, the first pair of devices without a way is named") {
  core::Random random(6);
  int gaps = 0, whole = 0;
  for (int i = 0; i < 600; ++i) {
    support::RandomNetwork network = support::random_mesh(random);
    for (int taken = 0; taken < 3 && !network.links.empty(); ++taken)
      network.links.erase(network.links.begin() +
                          random.between(0, static_cast<int>(network.links.size()) - 1));
    const std::string expected = gap(network);
    if (expected.empty()) {
      agree(network);
      ++whole;
      continue;
    }
    ++gaps;
    std::string said;
    try {
      network.cluster();
    } catch (const core::BadInput& e) {
      said = e.what();
    }
    CHECK(said.find(expected) != std::string::npos);
  }
  CHECK(gaps > 100);
  CHECK(whole > 100);
}
