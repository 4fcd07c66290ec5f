#pragma once
// Canonical form of a placement: equal for placements that differ only in the numbers of equal devices.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::planners {

/// For clusters whose network is a tree. Two placements are equivalent if exchanging equal sub-trees (and
/// devices of one type with equal cables) turns one into the other. Every message then uses equal links
/// beside equal other messages. The form is the canonical name of the tree with stages at its leaves (Aho,
/// Hopcroft, Ullman, The Design and Analysis of Computer Algorithms, 1974, example 3.2), here for labelled
/// trees.
class PlacementForm {
 public:
  explicit PlacementForm(const cluster::Cluster& cluster);
  /// Equal for equivalent placements and for no others. Made of the stages that each device runs and its
  /// position among their devices. Nothing if the network is no tree.
  std::optional<std::string> of(const std::vector<plan::Stage>& stages) const;

 private:
  struct TopologyPoint {
    std::size_t parent = 0;
    std::string cable;  ///< kind of the links to the parent and back
  };

  void peel(const cluster::Cluster& cluster);
  void check_nodes(const cluster::Cluster& cluster);

  bool tree_ = false;
  std::size_t devices_ = 0;
  std::vector<std::string> type_;      ///< [device]
  std::vector<std::size_t> order_;     ///< children before their parents; the root last
  std::vector<TopologyPoint> points_;  ///< [point]
};

}  // namespace penstock::planners
