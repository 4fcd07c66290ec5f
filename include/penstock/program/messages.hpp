#pragma once
// What stages send each other, one message at a time: a long program has too many to keep.

#include <algorithm>
#include <utility>

#include "penstock/core/units.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/program/program.hpp"

namespace penstock::program {

/// Samples that a share of one stage and a share of another have in common.
struct Overlap {
  Share from, to;
  Samples samples;
};

/// Where a message leaves, or arrives.
struct End {
  core::StageId stage;
  const Share& share;      ///< whose samples
  std::int32_t position;   ///< in the row of its rank: the instruction that makes it, or waits for it
  std::int32_t device{0};  ///< index into plan::Stage::devices
};

/// What an overlap hands on: the tensors that cross the boundary, or, the other way, their gradients. Between
/// stages on one device too, where nothing moves; a boundary without bytes (an imposed order) delays but
/// moves nothing.
struct Message {
  bool gradient;
  End from, to;
  std::int32_t gate;  ///< position in the receiver's row of the instruction that makes room; -1: none
  const Samples& samples;
  /// From and to the devices of both tensor-parallel groups in turn, a part each; all devices of the
  /// receiving group wait for it.
  std::int32_t part = 0, parts = 1;
};

/// Shares of both stages in the order of their samples, walked side by side; those of a part of a colocated
/// stage leave out the samples of the other parts.
template <class Visit>
void for_each_overlap(const Stage& from, const Stage& to, Visit visit) {
  const std::int64_t senders = from.shares(), receivers = to.shares();
  for (std::int64_t i = 0, j = 0; i < senders && j < receivers;) {
    Overlap now{from.sharing.share(i), to.sharing.share(j), {}};
    const Samples &a = now.from.samples, &b = now.to.samples;
    const std::int64_t first = std::max(a.first, b.first);
    now.samples = {first, std::min(a.end(), b.end()) - first};
    if (now.samples.count > 0) visit(std::as_const(now));
    const bool a_ends = a.end() <= b.end(), b_ends = b.end() <= a.end();
    if (a_ends) ++i;
    if (b_ends) ++j;
  }
}

/// `groups`: devices of one replica, of the sending stage and of the receiving one.
template <class Visit>
void for_each_part(Message& message, std::pair<std::int32_t, std::int32_t> groups, Visit& visit) {
  const auto [senders, receivers] = groups;
  message.parts = std::max(senders, receivers);
  for (; message.part < message.parts; ++message.part) {
    message.from.device = message.from.share.replica * senders + message.part % senders;
    message.to.device = message.to.share.replica * receivers + message.part % receivers;
    visit(std::as_const(message));
  }
}

/// Calls `visit(const Message&)`, which keeps no reference, for all messages of a boundary in the order of
/// their samples: the parts of a tensor, then those of its gradient.
template <class Visit>
void for_each_message(const Program& program, const plan::Boundary& boundary, Visit visit) {
  const Stage &x = program.stages[boundary.from.index()], &y = program.stages[boundary.to.index()];
  const std::int32_t xs = x.sharing.group, ys = y.sharing.group;
  for_each_overlap(x, y, [&](const Overlap& overlap) {
    const auto& [from, to, samples] = overlap;
    const auto a = static_cast<std::size_t>(from.in_row), b = static_cast<std::size_t>(to.in_row);
    Message forward{false,
                    {boundary.from, from, x.index.forward[a].last},
                    {boundary.to, to, y.index.forward[b].first},
                    y.index.forward_gate[b],
                    samples};
    for_each_part(forward, {xs, ys}, visit);
    Message backward{true,
                     {boundary.to, to, y.index.backward[b].last},
                     {boundary.from, from, x.index.backward[a].first},
                     x.index.backward_gate[a],
                     samples};
    for_each_part(backward, {ys, xs}, visit);
  });
}

}  // namespace penstock::program
