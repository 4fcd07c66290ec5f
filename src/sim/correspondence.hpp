#pragma once
// Whether parts of a plan that run side by side, each on devices of its own, are alike.

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::sim {

/// Links by the point at one of their ends, as they are listed.
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

/// Which points of a cluster do for one part what others do for the first. Those that several reach are hubs:
/// the one switch of a network, or one for each rail.
class Correspondence {
 public:
  explicit Correspondence(const cost::Problem& problem);

  /// Of so many parts, each of which has as many devices of a stage, one after the other. Without hubs the
  /// network falls apart into parts that are alike, link by link, and no way between two devices of a part
  /// leads over another.
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
  std::vector<std::size_t> owner_;  ///< [point] the part that reaches it
  std::vector<std::size_t> hubs_;
  std::vector<std::size_t> origin_;    ///< [point of another part] that of the first
  std::vector<std::size_t> image_;     ///< [point of the first part] that of this one
  std::vector<std::size_t> mapped_;    ///< points of the first part that have an image
  std::vector<std::size_t> open_;      ///< of these, whose links are to be matched
  std::vector<std::size_t> distance_;  ///< [point] links to a hub
  std::size_t part_ = 0;
};

}  // namespace penstock::sim
