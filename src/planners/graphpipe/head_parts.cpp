#include "graphpipe/head_parts.hpp"

#include <algorithm>

namespace penstock::planners {
namespace {

using PieceForm = BlockPiece::PieceForm;

/// Removes the piece's branches from `rest`; returns false if there are not enough.
bool take(const BlockPiece& piece, Selection& rest) {
  if (piece.form == PieceForm::branch) return --rest[static_cast<std::size_t>(piece.kind)] >= 0;
  if (piece.form == PieceForm::group)
    for (std::size_t k = 0; k < rest.size(); ++k)
      if ((rest[k] -= piece.selection[k]) < 0) return false;
  return true;
}

}  // namespace

bool HeadParts::nothing() const {
  return std::none_of(touched.begin(), touched.end(), [](const TouchedBranch& t) { return t.remains(); }) &&
         std::all_of(rest.begin(), rest.end(), [](int n) { return n == 0; });
}

std::vector<HeadParts> HeadParts::ways(const std::vector<int>& branch_sizes, const Selection& counts,
                                       const BlockPiece& front, const BlockPiece& back) {
  const auto size = [&](const BlockPiece& piece) {
    return branch_sizes[static_cast<std::size_t>(piece.kind)];
  };
  std::vector<HeadParts> out;
  HeadParts apart{{}, counts};
  if (take(front, apart.rest) && take(back, apart.rest)) {
    if (front.form == PieceForm::branch)
      apart.touched.push_back({front.kind, size(front), front.cut, size(front)});
    if (back.form == PieceForm::branch) apart.touched.push_back({back.kind, size(back), 0, back.cut});
    // If nothing is left and no stage is in front, there is no block to open.
    if (!apart.nothing() || front.form != PieceForm::none) out.push_back(std::move(apart));
  }
  const bool both =
      front.form == PieceForm::branch && back.form == PieceForm::branch && front.kind == back.kind;
  if (both && front.cut <= back.cut) {
    HeadParts shared{{{front.kind, size(front), front.cut, back.cut}}, counts};
    take(front, shared.rest);
    out.push_back(std::move(shared));
  }
  return out;
}

}  // namespace penstock::planners
