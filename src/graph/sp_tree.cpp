#include "sp_tree.hpp"

#include <algorithm>

namespace penstock::graph {
namespace {

using NodeKind = SpTree::NodeKind;

/// Every node below the root, parents before children, left before right.
std::vector<int> preorder(const SpTree& tree, int root) {
  std::vector<int> order, stack{root};
  while (!stack.empty()) {
    order.push_back(stack.back());
    stack.pop_back();
    const auto below = tree.children_of(order.back());
    stack.insert(stack.end(), below.rbegin(), below.rend());
  }
  return order;
}

std::vector<Vertex> smallest_leaves(const SpTree& tree) {
  std::vector<Vertex> smallest(tree.nodes.size());
  const std::vector<int> order = preorder(tree, tree.root);
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    smallest[*i] = tree.node(*i).vertex;
    for (int child : tree.children_of(*i))
      if (smallest[*i] < 0 || smallest[child] < smallest[*i]) smallest[*i] = smallest[child];
  }
  return smallest;
}

int skip_single_children(const SpTree& tree, int i) {
  while (tree.node(i).child_count == 1) i = tree.children_of(i)[0];
  return i;
}

/// The children of a node once nodes of its own kind below it are dissolved.
std::vector<int> parts_of(const SpTree& tree, int top) {
  std::vector<int> parts, stack{top};
  while (!stack.empty()) {
    const int i = skip_single_children(tree, stack.back());
    stack.pop_back();
    if (tree.node(i).kind != tree.node(top).kind) {
      parts.push_back(i);
    } else {
      const auto below = tree.children_of(i);
      stack.insert(stack.end(), below.rbegin(), below.rend());
    }
  }
  return parts;
}

/// The vertices at one end of a part of the order: nothing in the part precedes (or follows) them.
std::vector<Vertex> ends_of(const SpTree& tree, int top, bool first) {
  std::vector<Vertex> ends;
  std::vector<int> stack{top};
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    const auto below = tree.children_of(i);
    if (tree.node(i).kind == NodeKind::leaf) ends.push_back(tree.node(i).vertex);
    if (tree.node(i).kind == NodeKind::series) stack.push_back(first ? below.front() : below.back());
    if (tree.node(i).kind == NodeKind::parallel) stack.insert(stack.end(), below.begin(), below.end());
  }
  return ends;
}

}  // namespace

int append_node(SpTree& tree, NodeKind kind, std::span<const int> children) {
  tree.nodes.push_back({kind, -1, static_cast<int>(tree.children.size()), static_cast<int>(children.size())});
  tree.children.insert(tree.children.end(), children.begin(), children.end());
  return static_cast<int>(tree.nodes.size()) - 1;
}

SpTree tidied(const SpTree& rough) {
  const std::vector<Vertex> smallest = smallest_leaves(rough);
  SpTree out;
  std::vector<int> origin{skip_single_children(rough, rough.root)};  // the rough node behind each new one
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const SpTree::TreeNode& from = rough.node(origin[i]);
    out.nodes.push_back({from.kind, from.vertex, static_cast<int>(out.children.size()), 0});
    if (from.kind == NodeKind::leaf) continue;
    std::vector<int> parts = parts_of(rough, origin[i]);
    if (from.kind == NodeKind::parallel)
      std::sort(parts.begin(), parts.end(), [&](int a, int b) { return smallest[a] < smallest[b]; });
    out.nodes.back().child_count = static_cast<int>(parts.size());
    for (int part : parts) {
      out.children.push_back(static_cast<int>(origin.size()));
      origin.push_back(part);
    }
  }
  return out;
}

std::vector<Vertex> SpTree::leaves(int i) const {
  std::vector<Vertex> out;
  for (int below : preorder(*this, i))
    if (node(below).kind == NodeKind::leaf) out.push_back(node(below).vertex);
  return out;
}

std::vector<Edge> covering_edges(const SpTree& tree) {
  std::vector<Edge> edges;
  for (int i = 0; static_cast<std::size_t>(i) < tree.nodes.size(); ++i) {
    if (tree.node(i).kind != NodeKind::series) continue;
    const auto parts = tree.children_of(i);
    for (std::size_t k = 1; k < parts.size(); ++k) {
      const std::vector<Vertex> below = ends_of(tree, parts[k], true);
      for (Vertex u : ends_of(tree, parts[k - 1], false))
        for (Vertex w : below) edges.emplace_back(u, w);
    }
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

double critical_length(const SpTree& tree, std::span<const double> weights) {
  std::vector<double> length(tree.nodes.size());
  for (auto i = static_cast<int>(length.size()) - 1; i >= 0; --i) {  // children come behind their parents
    if (tree.node(i).kind == NodeKind::leaf) length[i] = weights[tree.node(i).vertex];
    for (int child : tree.children_of(i))
      length[i] = tree.node(i).kind == NodeKind::series ? length[i] + length[child]
                                                        : std::max(length[i], length[child]);
  }
  return length[tree.root];
}

}  // namespace penstock::graph
