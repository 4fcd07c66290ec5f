#include "support/random_network.hpp"

#include <numeric>

using namespace penstock;

namespace penstock::support {
namespace {

std::size_t below(core::Random& random, std::size_t end) {
  return static_cast<std::size_t>(random.between(0, static_cast<int>(end) - 1));
}

cluster::Link link(std::size_t a, std::size_t b, core::Random& random) {
  return {a, b, core::Bandwidth(1e9 * random.between(1, 3)), core::Seconds(1e-7 * random.between(1, 2))};
}

void join(RandomNetwork& network, std::size_t a, std::size_t b, core::Random& random) {
  network.links.push_back(link(a, b, random));
  cluster::Link back = network.links.back();
  if (random.chance(0.3)) back = link(a, b, random);
  std::swap(back.from, back.to);
  network.links.push_back(back);
}

}  // namespace

cluster::Cluster RandomNetwork::cluster() const {
  return cluster::Cluster("random", {{}}, std::vector<cluster::Device>(devices), points - devices, links);
}

RandomNetwork random_tree(core::Random& random) {
  RandomNetwork out;
  out.devices = 2 + below(random, 9);
  out.points = out.devices + below(random, 7);
  std::vector<std::size_t> order(out.points);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(random, i)]);
  for (std::size_t i = 1; i < order.size(); ++i) join(out, order[i], order[below(random, i)], random);
  return out;
}

RandomNetwork random_mesh(core::Random& random) {
  RandomNetwork out = random_tree(random);
  for (std::size_t n = below(random, 8); n > 0; --n) {
    const std::size_t a = below(random, out.points), b = below(random, out.points);
    if (a == b) continue;
    join(out, a, b, random);
    if (random.chance(0.3)) out.links.pop_back();
  }
  return out;
}

}  // namespace penstock::support
