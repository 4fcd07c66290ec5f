#include "graphpipe/arrangement.hpp"

#include <map>

namespace penstock::planners {
namespace {

using graph::SpTree;

class ArrangementBuilder {
 public:
  ArrangementBuilder(const SpTree& tree, const std::vector<UnitFace>& faces)
      : tree_(tree), faces_(faces), position_of_(faces.size(), -1) {}

  UnitArrangement build() {
    out_.root = sequence(tree_.root);
    return std::move(out_);
  }

 private:
  /// Adds the sequence of a branch or of the whole graph: a series node's children, or a single element.
  int sequence(int node) {
    UnitSequence row;
    if (tree_.node(node).kind == SpTree::NodeKind::series)
      for (int child : tree_.children_of(node)) row.elements.push_back(element(child));
    else
      row.elements.push_back(element(node));
    out_.sequences.push_back(std::move(row));
    return static_cast<int>(out_.sequences.size()) - 1;
  }

  SequenceElement element(int node) {
    SequenceElement element;
    element.begin = static_cast<int>(out_.unit_at.size());
    if (tree_.node(node).kind == SpTree::NodeKind::leaf) {
      position_of_[static_cast<std::size_t>(tree_.node(node).vertex)] = element.begin;
      out_.unit_at.push_back(tree_.node(node).vertex);
    } else {
      element.block = block(node);
    }
    element.end = static_cast<int>(out_.unit_at.size());
    return element;
  }

  int block(int node) {
    BranchBlock block;
    std::map<std::string, std::size_t> kind_of;
    for (int child : tree_.children_of(node)) {
      const int branch = sequence(child);
      const auto [kind, is_new] = kind_of.emplace(signature(branch), block.kinds.size());
      if (is_new) block.kinds.emplace_back();
      block.kinds[kind->second].instances.push_back(branch);
    }
    out_.blocks.push_back(std::move(block));
    return static_cast<int>(out_.blocks.size()) - 1;
  }

  /// Text of a branch's structure, costs and tensors. Ends inside the branch are named by their position in
  /// it, ends outside by the unit itself, so branches that read different tensors differ.
  std::string signature(int branch) const {
    const UnitSequence& row = out_.sequences[static_cast<std::size_t>(branch)];
    std::string text;
    shape(row, text);
    for (int p = row.begin(); p < row.end(); ++p) {
      const UnitFace& face = faces_[static_cast<std::size_t>(out_.unit_at[static_cast<std::size_t>(p)])];
      text += face.cost;
      for (const auto& tensor : face.reads) text += "<" + end_of(tensor, row);
      for (const auto& tensor : face.readers) text += ">" + end_of(tensor, row);
      text += ";";
    }
    return text;
  }

  std::string end_of(const UnitFace::FaceTensor& tensor, const UnitSequence& row) const {
    const int p = position_of_[static_cast<std::size_t>(tensor.unit)];
    const bool inside = p >= row.begin() && p < row.end();
    return (inside ? std::to_string(p - row.begin()) : "u" + std::to_string(tensor.unit)) + "." +
           std::to_string(tensor.slot);
  }

  void shape(const UnitSequence& row, std::string& text) const {
    text += "(";
    for (const SequenceElement& element : row.elements) {
      if (element.block < 0) {
        text += ".";
        continue;
      }
      text += "[";
      for (const BranchKind& kind : out_.blocks[static_cast<std::size_t>(element.block)].kinds)
        for (int branch : kind.instances) shape(out_.sequences[static_cast<std::size_t>(branch)], text);
      text += "]";
    }
    text += ")";
  }

  const SpTree& tree_;
  const std::vector<UnitFace>& faces_;
  std::vector<int> position_of_;  ///< [unit] -1 until it is reached
  UnitArrangement out_;
};

}  // namespace

UnitArrangement arrange(const SpTree& tree, const std::vector<UnitFace>& faces) {
  return ArrangementBuilder(tree, faces).build();
}

UnitArrangement arrange_in_row(std::size_t units) {
  UnitArrangement out;
  UnitSequence row;
  for (int u = 0; u < static_cast<int>(units); ++u) {
    out.unit_at.push_back(u);
    row.elements.push_back({u, u + 1, -1});
  }
  out.sequences.push_back(std::move(row));
  return out;
}

}  // namespace penstock::planners
