#pragma once
// Sequences of unlike length: how long they are, and how they fill the samples of a mini-batch.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/stop.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/layout/lengths.hpp"

namespace penstock::sim {

/// Of the lengths of sequences, in tokens.
struct LognormalLengths {
  double median = 0, sigma = 0;  ///< sigma: standard deviation of the logarithm
};
struct UniformLengths {
  std::int64_t from = 0, to = 0;  ///< both included
};
/// A histogram: lengths, ascending, and how many sequences are no longer.
struct CountedLengths {
  std::vector<std::pair<std::int64_t, std::int64_t>> up_to;
};

/// What a scenario says of the lengths of sequences, all in tokens. A sample, which a model takes to be full,
/// has room for `maximum` tokens.
///
/// Approximate: passes take what cost::LengthTimes says, messages between stages carry the tokens that there
/// are, those within a core that is cut in two among them. Memory is that of full samples, which a run must
/// have room for; so are optimizer steps, reductions of gradients, and how busy a device is that slows others
/// of its node. The packer sees the whole mini-batch, not one replica's part of it.
struct Lengths {
  enum class Packing : std::uint8_t {
    none,       ///< a sequence in each sample
    first_fit,  ///< each sequence, as drawn, into the first sample that has room for it
    sorted,     ///< the same, longest first (first-fit decreasing; Johnson, 1973)
  };
  static constexpr std::int64_t kFull = 0;

  std::variant<LognormalLengths, UniformLengths, CountedLengths> distribution;
  std::int64_t maximum = 0;  ///< longer sequences are cut; 0: all that the model's sequence has
  Packing packing = Packing::none;
  std::int64_t pad = 1;  ///< samples are padded to a multiple of so many tokens; kFull: to the maximum
  core::Place place;
};
std::string_view name(Lengths::Packing packing);

/// What a sample, or several, are filled with.
struct Filling {
  std::int64_t sequences = 0, tokens = 0;
  std::int64_t computed = 0;  ///< tokens with padding
  /// Tokens that computed ones meet in attention, summed: l^2 of each sequence. A lone sequence is padded as
  /// a whole; padding behind packed ones meets nothing.
  double meetings = 0;

  Filling& operator+=(const Filling& other);
  /// Of `samples` that are filled so.
  layout::Fill per_sample(std::int64_t samples) const;
  double padding() const;  ///< share of what is computed
  /// Of a sample: the same without padding.
  Filling unpadded() const;
};

/// Tokens that a sample has room for. Throws BadInput, with its place, where the model has no sequence or a
/// shorter one.
std::int64_t room(const Lengths& lengths, const graph::OpGraph& graph);

/// The length of a sequence, from a number drawn evenly from [0, 1).
std::int64_t length(const Lengths& lengths, std::int64_t room, double unit);

/// The samples of mini-batch `number`: a function of the arguments alone. Packing draws sequences until they
/// have as many tokens as all samples have room for; what finds no room is left for later, and never seen.
std::vector<Filling> fillings(const Lengths& lengths, std::int64_t room, std::int64_t samples,
                              std::uint64_t seed, std::int64_t number, core::StopToken stop = {});

/// Samples together.
Filling sum(const std::vector<Filling>& samples);

/// "lengths (lognormal median 1024 sigma 0.8, first_fit, padded to 64)".
std::string in_words(const Lengths& lengths);

}  // namespace penstock::sim
