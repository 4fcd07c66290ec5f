#pragma once
// Tells placements apart, except those that differ by the numbers of like devices alone.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::planners {

/// For clusters whose network is a tree. Two placements are alike when one becomes the other by exchanging
/// equal sub-trees, devices of one type with equal cables among them: every message then travels over equal
/// links beside the same other messages. The form of such a placement is the canonical name of the tree with
/// stages at its leaves (Aho, Hopcroft, Ullman, The Design and Analysis of Computer Algorithms, 1974, example
/// 3.2), here of labelled trees.
class PlacementForm {
 public:
  explicit PlacementForm(const cluster::Cluster& cluster);
  /// Equal for placements that are alike, and for no others: of each device the stages it runs and its place
  /// among their devices. Nothing where the network is no tree.
  std::optional<std::string> of(const std::vector<plan::Stage>& stages) const;

 private:
  struct Point {
    std::size_t parent = 0;
    std::string cable;  ///< which kind of links to the parent and back
  };

  void peel(const cluster::Cluster& cluster);
  void check_nodes(const cluster::Cluster& cluster);

  bool tree_ = false;
  std::size_t devices_ = 0;
  std::vector<std::string> type_;   ///< [device]
  std::vector<std::size_t> order_;  ///< points, children before their parents; the root last
  std::vector<Point> points_;       ///< [point]
};

}  // namespace penstock::planners
