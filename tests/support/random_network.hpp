#pragma once
// Random devices, switches and links.

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/random.hpp"

namespace penstock::support {

struct RandomNetwork {
  std::size_t devices = 0, points = 0;
  std::vector<penstock::cluster::Link> links;

  penstock::cluster::Cluster cluster() const;
};

/// A tree of up to 16 points, with 2 to 10 devices anywhere in it. A third of its cables are faster one way.
RandomNetwork random_tree(penstock::core::Random& random);
/// A random_tree() with additional cables across, some beside another one, some one way only.
RandomNetwork random_mesh(penstock::core::Random& random);

}  // namespace penstock::support
