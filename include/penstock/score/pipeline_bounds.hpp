#pragma once
// No schedule of a pipeline is faster than this.

#include <array>
#include <cstdint>
#include <string_view>

#include "penstock/schedule/pipeline.hpp"

namespace penstock::score {

/// Why a pipeline takes its time. Below, M micro-batches; times of one micro-batch: f and b on a machine,
/// `head` the longest path from the start to its first task, `tail` the longest path from the end of its last
/// to the end of the iteration, all-reduces included. Paths pass a backward that begins early
/// (PipelineStage::early) in what is left of it once the gradient is there; its machine has all of it to do
/// between two backwards.
enum class BoundKind : std::uint8_t {
  work,       ///< M (f + b), and the machine's own all-reduce
  head_tail,  ///< head + M (f + b) + tail
  /// The longest path through one task, which all micro-batches pass one by one: path + (M - 1) task.
  chain,
  /// A stage has room for K < M micro-batches, and each stays for a round trip R, the longest path from the
  /// start of F to the end of B: head + ceil(M / K) R + ((M - 1) mod K) max(f, b) + tail. Sharper than
  /// Little's law (Little, Operations Research 1961), head + M R / K + tail. Proof: when the (i + K)-th
  /// micro-batch enters, i have left, the last of them at least R after the i-th entered. So entries i and i
  /// + K lie R apart or more, and neighbours f.
  memory,
};
inline constexpr std::size_t kBoundKinds = 4;
std::string_view name(BoundKind kind);

struct Bound {
  BoundKind kind;
  std::size_t site = 0;  ///< the stage or, counted on from the stages, the link that binds most
  core::Picoseconds time;
};

struct PipelineBounds {
  std::array<Bound, kBoundKinds> by_kind;  ///< in the order of BoundKind; zero where none applies
  const Bound& best() const;               ///< the largest; the first among equals
};

/// Bounds for every order of tasks and every way to pause in between. Takes a few steps per stage and link,
/// for stages with room < M a walk through all. Throws BadInput for a pipeline with a violation.
PipelineBounds pipeline_bounds(const schedule::Pipeline& pipeline);

}  // namespace penstock::score
