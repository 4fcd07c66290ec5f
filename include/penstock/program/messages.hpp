#pragma once
// Messages between stages, visited one at a time: a long program has too many to store.

#include <algorithm>
#include <utility>

#include "penstock/core/units.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/program/program.hpp"

namespace penstock::program {

/// Samples common to a share of one stage and a share of another.
struct ShareOverlap {
  ReplicaShare from, to;
  SampleRange samples;
};

/// Sender or receiver of a message.
struct MessageEnd {
  core::StageId stage;
  const ReplicaShare& share;  ///< share that has the samples
  /// Position in the rank's row of the instruction that makes the message, or waits for it.
  std::int32_t position;
  std::int32_t device{0};  ///< index into plan::Stage::devices
};

/// Message for one overlap: tensors that cross the boundary or, in the other direction, their gradients.
/// Messages between stages on one device move no data. A boundary without bytes (an imposed order) only
/// delays.
struct StageMessage {
  bool gradient;
  MessageEnd from, to;
  /// Position in the receiver's row of the instruction that frees a buffer for it; -1: none.
  std::int32_t gate;
  const SampleRange& samples;
  /// Index and number of the parts of this message: devices of the two tensor-parallel groups pair up in
  /// turn. All devices of the receiving group wait for every part.
  std::int32_t part = 0, parts = 1;
};

/// Visits overlaps of the shares of both stages in the order of samples. Parts of a colocated stage skip the
/// samples of other parts.
template <class Visit>
void for_each_overlap(const StageProgram& from, const StageProgram& to, Visit visit) {
  const std::int64_t senders = from.shares(), receivers = to.shares();
  for (std::int64_t i = 0, j = 0; i < senders && j < receivers;) {
    ShareOverlap now{from.sharing.share(i), to.sharing.share(j), {}};
    const SampleRange &a = now.from.samples, &b = now.to.samples;
    const std::int64_t first = std::max(a.first, b.first);
    now.samples = {first, std::min(a.end(), b.end()) - first};
    if (now.samples.count > 0) visit(std::as_const(now));
    const bool a_ends = a.end() <= b.end(), b_ends = b.end() <= a.end();
    if (a_ends) ++i;
    if (b_ends) ++j;
  }
}

/// `groups`: devices per replica of the sending and of the receiving stage.
template <class Visit>
void for_each_part(StageMessage& message, std::pair<std::int32_t, std::int32_t> groups, Visit& visit) {
  const auto [senders, receivers] = groups;
  message.parts = std::max(senders, receivers);
  for (; message.part < message.parts; ++message.part) {
    message.from.device = message.from.share.replica * senders + message.part % senders;
    message.to.device = message.to.share.replica * receivers + message.part % receivers;
    visit(std::as_const(message));
  }
}

/// Calls `visit(const StageMessage&)` for all messages of a boundary in the order of samples: the parts of a
/// tensor, then those of its gradient. `visit` must not keep the reference.
template <class Visit>
void for_each_message(const Program& program, const plan::StageBoundary& boundary, Visit visit) {
  const StageProgram &x = program.stages[boundary.from.index()], &y = program.stages[boundary.to.index()];
  const std::int32_t xs = x.sharing.group, ys = y.sharing.group;
  for_each_overlap(x, y, [&](const ShareOverlap& overlap) {
    const auto& [from, to, samples] = overlap;
    const auto a = static_cast<std::size_t>(from.in_row), b = static_cast<std::size_t>(to.in_row);
    StageMessage forward{false,
                         {boundary.from, from, x.index.forward[a].last},
                         {boundary.to, to, y.index.forward[b].first},
                         y.index.forward_gate[b],
                         samples};
    for_each_part(forward, {xs, ys}, visit);
    StageMessage backward{true,
                          {boundary.to, to, y.index.backward[b].last},
                          {boundary.from, from, x.index.backward[a].first},
                          x.index.backward_gate[a],
                          samples};
    for_each_part(backward, {ys, xs}, visit);
  });
}

}  // namespace penstock::program
