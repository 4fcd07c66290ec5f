#pragma once
// Checks whether parts of a plan that run side by side, each on separate devices, are equal.

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::sim {

/// Links by the point at one of their ends, in the order of the cluster.
class LinksAt {
 public:
  LinksAt(const cluster::Cluster& cluster, std::size_t cluster::Link::*end);
  std::span<const cluster::Link* const> of(std::size_t point) const {
    return {links_.data() + begin_[point], begin_[point + 1] - begin_[point]};
  }

 private:
  std::vector<std::size_t> begin_;  ///< [point]
  std::vector<const cluster::Link*> links_;
};

/// Correspondence of points: which point serves another part as a given point serves the first part. Points
/// that several parts reach are hubs: the one switch of a network, or one per rail.
class PointCorrespondence {
 public:
  explicit PointCorrespondence(const cost::Problem& problem);

  /// True for `parts` parts, each with as many devices of every stage, in order. Without hubs, the network
  /// falls into parts that are equal link by link, and no path between two devices of a part passes another
  /// part.
  bool holds(const plan::Plan& plan, std::size_t parts);

 private:
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max(), kHub = kNobody - 1;
  static constexpr std::size_t kNoWay = kNobody;

  bool matches(const plan::Plan& plan, std::size_t parts, std::size_t part);
  bool same_order(std::size_t hub, std::size_t parts) const;
  bool match_ends(const LinksAt& at, std::size_t p, std::size_t cluster::Link::*end);
  bool match(std::size_t p, std::size_t q);
  bool may_be_hub(std::size_t p);
  bool is_first(std::size_t point);
  bool alike(std::size_t p, std::size_t q) const;
  bool ways_stay_within();
  bool known_to_stay_within();
  std::size_t least_distance(std::span<const cluster::Link* const> links,
                             std::size_t cluster::Link::*end) const;
  void find_distances(std::size_t hub);

  const cost::Problem& problem_;
  const cluster::Cluster& cluster_;
  LinksAt leaving_, entering_;
  std::vector<std::size_t> owner_;  ///< [point] part that reaches it
  std::vector<std::size_t> hubs_;
  std::vector<std::size_t> origin_;    ///< [point of another part] corresponding point of the first part
  std::vector<std::size_t> image_;     ///< [point of the first part] corresponding point of the current part
  std::vector<std::size_t> mapped_;    ///< points of the first part that have an image
  std::vector<std::size_t> open_;      ///< mapped points whose links are not yet matched
  std::vector<std::size_t> distance_;  ///< [point] number of links to a hub
  std::size_t part_ = 0;
};

}  // namespace penstock::sim
