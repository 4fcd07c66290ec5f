#include "penstock/collective/catalogue.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "ring.hpp"

namespace penstock::collective {

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = {kRing,         kTree,       kHalvingDoubling,
                                             kHierarchical, kDoubleTree, kDisjointRings};
  return all;
}

const Algorithm& algorithm(std::string_view name) {
  const auto found = std::ranges::find(algorithms(), name, &Algorithm::name);
  core::require(found != algorithms().end(), "there is no such algorithm of an all-reduce");
  return *found;
}

const Algorithm& cheapest(const cluster::Cluster& cluster, Group group, core::Bytes bytes) {
  if (group.size() < 2) return kRing;  // the ring sends nothing
  const Algorithm* best = nullptr;
  double least = 0;
  for (const Algorithm& each : algorithms()) {
    if (each.closed_form == nullptr || !each.fits(cluster, group)) continue;
    const double time = each.closed_form(cluster, group, PassCount::two, {}).at(bytes);
    if (best == nullptr || time < least) best = &each, least = time;
  }
  return *best;
}

}  // namespace penstock::collective
