#pragma once
// Lower bounds on the time of a pipeline, for any schedule.

#include <array>
#include <cstdint>
#include <string_view>

#include "penstock/schedule/pipeline.hpp"

namespace penstock::score {

/// Kinds of bounds. M is the number of micro-batches; f and b are the times of one micro-batch on a machine.
/// `head` is the longest path from the start to the machine's first task. `tail` is the longest path from the
/// end of its last task to the end of the iteration, all-reduces included. On a path, a backward that begins
/// early (PipelineStage::early) counts only from the arrival of its gradient; its machine runs all of it
/// between two backwards.
enum class BoundKind : std::uint8_t {
  work,       ///< M (f + b), plus the machine's own all-reduce
  head_tail,  ///< head + M (f + b) + tail
  /// Longest path through one task, which all micro-batches pass one after the other: path + (M - 1) task.
  chain,
  /// A stage has room for K < M micro-batches. Each stays for a round trip R, the longest path from the start
  /// of F to the end of B. The bound is head + ceil(M / K) R + ((M - 1) mod K) max(f, b) + tail. It is sharper
  /// than head + M R / K + tail by Little's law (Operations Research 1961). Proof: when the (i + K)-th
  /// micro-batch enters, i have left, the last of them at least R after the i-th entered. So entries i and i
  /// + K are at least R apart, and consecutive entries at least f.
  memory,
};
inline constexpr std::size_t kBoundKinds = 4;
std::string_view name(BoundKind kind);

struct PipelineBound {
  BoundKind kind;
  std::size_t site = 0;  ///< the binding stage, or the binding link (numbered after the stages)
  core::Picoseconds time;
};

struct PipelineBounds {
  std::array<PipelineBound, kBoundKinds>
      by_kind;                        ///< in the order of BoundKind; zero if a kind does not apply
  const PipelineBound& best() const;  ///< the largest bound; the first among equals
};

/// Bounds for every order of tasks, with any pauses. Takes a few steps per stage and link; for each stage
/// with room < M, a traversal of all. Throws BadInput for a pipeline with a violation.
PipelineBounds pipeline_bounds(const schedule::Pipeline& pipeline);

}  // namespace penstock::score
