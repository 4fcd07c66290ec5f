#pragma once
// Sequences of different lengths: distributions, and how sequences fill the samples of a mini-batch.

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

/// Lognormal distribution of lengths, in tokens.
struct LognormalLengths {
  double median = 0, sigma = 0;  ///< sigma: standard deviation of the logarithm
};
struct UniformLengths {
  std::int64_t from = 0, to = 0;  ///< both included
};
/// Histogram of lengths: pairs of a length, ascending, and the number of sequences that are no longer
/// (cumulative).
struct CountedLengths {
  std::vector<std::pair<std::int64_t, std::int64_t>> up_to;
};

/// Lengths of sequences in a scenario, in tokens. A sample, which a model assumes to be full, has room for
/// `maximum` tokens.
///
/// Approximations: passes take the time of cost::LengthTimes. Messages between stages carry the existing
/// tokens, including tensors within a core that is cut in two. Memory is that of full samples, for which a
/// run must have room. Full samples also determine optimizer steps, gradient reductions, and how much a busy
/// device slows others of its node. The packer sees the whole mini-batch, not one replica's part of it.
struct SequenceLengths {
  enum class SequencePacking : std::uint8_t {
    none,       ///< one sequence per sample
    first_fit,  ///< each sequence, as drawn, goes into the first sample with room for it
    sorted,     ///< like first_fit, longest first (first-fit decreasing; Johnson, 1973)
  };
  static constexpr std::int64_t kFull = 0;

  std::variant<LognormalLengths, UniformLengths, CountedLengths> distribution;
  std::int64_t maximum = 0;  ///< longer sequences are cut; 0: the length of the model's sequence
  SequencePacking packing = SequencePacking::none;
  std::int64_t pad = 1;  ///< samples are padded to a multiple of this many tokens; kFull: to the maximum
  core::InputPlace place;
};
std::string_view name(SequenceLengths::SequencePacking packing);

/// Content of one or several samples.
struct SampleContent {
  std::int64_t sequences = 0, tokens = 0;
  std::int64_t computed = 0;  ///< tokens including padding
  /// Sum of attended tokens over computed tokens: l^2 of each sequence. A single sequence is padded as a
  /// whole; padding behind packed sequences attends to nothing.
  double meetings = 0;

  SampleContent& operator+=(const SampleContent& other);
  /// Mean fill of `samples` samples with this content.
  layout::SampleFill per_sample(std::int64_t samples) const;
  double padding() const;  ///< share of the computed tokens
  /// Content of the sample without padding.
  SampleContent unpadded() const;
};

/// Number of tokens that a sample has room for. Throws BadInput, with its place, if the model has no sequence
/// or a shorter one.
std::int64_t room(const SequenceLengths& lengths, const graph::OpGraph& graph);

/// Length of a sequence, from a number drawn uniformly from [0, 1).
std::int64_t length(const SequenceLengths& lengths, std::int64_t room, double unit);

/// Content of the samples of mini-batch `number`: depends only on the arguments. Packing draws sequences
/// until they have as many tokens as all samples have room for. Sequences that find no room are dropped.
std::vector<SampleContent> fillings(const SequenceLengths& lengths, std::int64_t room, std::int64_t samples,
                                    std::uint64_t seed, std::int64_t number, core::StopToken stop = {});

/// Sum over all samples.
SampleContent sum(const std::vector<SampleContent>& samples);

/// Returns a text such as "lengths (lognormal median 1024 sigma 0.8, first_fit, padded to 64)".
std::string in_words(const SequenceLengths& lengths);

}  // namespace penstock::sim
