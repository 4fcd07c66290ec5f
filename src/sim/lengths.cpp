#include "penstock/sim/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "normal.hpp"
#include "penstock/core/random.hpp"

namespace penstock::sim {
namespace {

/// Remaining room of samples, with a search for the first that has enough: a tree of maxima.
class RoomTree {
 public:
  RoomTree(std::size_t samples, std::int64_t room) : leaves_(std::bit_ceil(samples)), tree_(2 * leaves_) {
    for (std::size_t s = 0; s < samples; ++s) tree_[leaves_ + s] = room;
    for (std::size_t node = leaves_; node-- > 1;) pull(node);
  }
  bool fits(std::int64_t tokens) const { return tree_[1] >= tokens; }
  /// Takes the room in the first sample that has it, and returns that sample.
  std::size_t take(std::int64_t tokens) {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (tree_[2 * node] >= tokens ? 0 : 1);
    const std::size_t sample = node - leaves_;
    tree_[node] -= tokens;
    while ((node /= 2) > 0) pull(node);
    return sample;
  }

 private:
  void pull(std::size_t node) { tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]); }
  std::size_t leaves_;
  std::vector<std::int64_t> tree_;  ///< [node] maximum room of a sample below it
};

/// Stream of the sequences of a mini-batch.
class SequenceStream {
 public:
  SequenceStream(const SequenceLengths& lengths, std::int64_t room, std::uint64_t seed, std::int64_t number)
      : lengths_(lengths),
        room_(room),
        random_(core::Random(core::Random(seed).next() ^ static_cast<std::uint64_t>(number)).next()) {}
  std::int64_t next() { return length(lengths_, room_, random_.unit()); }

 private:
  const SequenceLengths& lengths_;
  std::int64_t room_;
  core::Random random_;
};

constexpr std::size_t kBetweenStops = 4096, kMostPacked = 100'000'000;

/// Draws sequences until they have `tokens` tokens.
std::vector<std::int64_t> enough(SequenceStream& stream, std::int64_t tokens, core::StopToken stop) {
  std::vector<std::int64_t> out;
  for (std::int64_t drawn = 0; drawn < tokens; drawn += out.back()) {
    if (out.size() % kBetweenStops == 0) stop.check();
    if (out.size() == kMostPacked)
      throw core::Error(core::ExitCode::limit,
                        fmt::format("a mini-batch packs more than {} sequences", kMostPacked));
    out.push_back(stream.next());
  }
  return out;
}

void pack(const std::vector<std::int64_t>& sequences, std::int64_t room, std::vector<SampleContent>& samples,
          core::StopToken stop) {
  RoomTree rooms(samples.size(), room);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (i % kBetweenStops == 0) stop.check();
    if (!rooms.fits(sequences[i])) continue;
    const auto tokens = static_cast<double>(sequences[i]);
    samples[rooms.take(sequences[i])] += {1, sequences[i], sequences[i], tokens * tokens};
  }
}

std::int64_t padded(std::int64_t tokens, const SequenceLengths& lengths, std::int64_t room) {
  if (lengths.pad == SequenceLengths::kFull) return room;
  return std::min(room, (tokens + lengths.pad - 1) / lengths.pad * lengths.pad);
}

struct InWords {
  std::string operator()(const LognormalLengths& d) const {
    return fmt::format("lognormal median {:g} sigma {:g}", d.median, d.sigma);
  }
  std::string operator()(const UniformLengths& d) const {
    return fmt::format("uniform {} to {}", d.from, d.to);
  }
  std::string operator()(const CountedLengths& d) const {
    return fmt::format("{} counted lengths", d.up_to.size());
  }
};

}  // namespace

std::string_view name(SequenceLengths::SequencePacking packing) {
  constexpr std::array<std::string_view, 3> names = {"none", "first_fit", "sorted"};
  return names[static_cast<std::size_t>(packing)];
}

SampleContent& SampleContent::operator+=(const SampleContent& other) {
  sequences += other.sequences;
  tokens += other.tokens;
  computed += other.computed;
  meetings += other.meetings;
  return *this;
}

layout::SampleFill SampleContent::per_sample(std::int64_t samples) const {
  if (computed == 0) return {};
  const auto all = static_cast<double>(computed);
  return {all / static_cast<double>(samples), meetings / all};
}

double SampleContent::padding() const {
  return computed == 0 ? 0 : static_cast<double>(computed - tokens) / static_cast<double>(computed);
}

SampleContent SampleContent::unpadded() const {
  const auto length = static_cast<double>(tokens);
  return {sequences, tokens, tokens, sequences == 1 ? length * length : meetings};
}

std::int64_t room(const SequenceLengths& lengths, const graph::OpGraph& graph) {
  const std::int64_t sequence = layout::sequence(graph);
  if (sequence == 0)
    throw core::BadInput(lengths.place, graph.name() + " has no attention, so its samples are no sequences");
  if (lengths.maximum > sequence)
    throw core::BadInput(lengths.place, fmt::format("maximum {} is more than the {} tokens of the model's "
                                                    "sequence",
                                                    lengths.maximum, sequence));
  return lengths.maximum == 0 ? sequence : lengths.maximum;
}

std::int64_t length(const SequenceLengths& lengths, std::int64_t room, double unit) {
  double drawn = 0;
  if (const auto* log = std::get_if<LognormalLengths>(&lengths.distribution)) {
    drawn = log->median * std::exp(log->sigma * normal_quantile(unit));
  } else if (const auto* even = std::get_if<UniformLengths>(&lengths.distribution)) {
    drawn =
        std::floor(static_cast<double>(even->from) + unit * static_cast<double>(even->to - even->from + 1));
  } else {
    const auto& up_to = std::get<CountedLengths>(lengths.distribution).up_to;
    const auto place = static_cast<std::int64_t>(unit * static_cast<double>(up_to.back().second));
    drawn = static_cast<double>(
        std::ranges::upper_bound(up_to, place, {}, [](const auto& entry) { return entry.second; })->first);
  }
  return std::llround(std::clamp(drawn, 1.0, static_cast<double>(room)));
}

std::vector<SampleContent> fillings(const SequenceLengths& lengths, std::int64_t room, std::int64_t samples,
                                    std::uint64_t seed, std::int64_t number, core::StopToken stop) {
  std::vector<SampleContent> out(static_cast<std::size_t>(samples));
  SequenceStream stream(lengths, room, seed, number);
  const bool lone = lengths.packing == SequenceLengths::SequencePacking::none;
  if (lone) {
    for (SampleContent& sample : out) sample = {1, stream.next(), 0, 0};
  } else {
    auto sequences = enough(stream, samples * room, stop);
    if (lengths.packing == SequenceLengths::SequencePacking::sorted)
      std::ranges::sort(sequences, std::greater());
    pack(sequences, room, out, stop);
  }
  for (SampleContent& sample : out) {
    sample.computed = padded(sample.tokens, lengths, room);
    if (lone) sample.meetings = static_cast<double>(sample.computed) * static_cast<double>(sample.computed);
  }
  return out;
}

SampleContent sum(const std::vector<SampleContent>& samples) {
  SampleContent out;
  for (const SampleContent& sample : samples) out += sample;
  return out;
}

std::string in_words(const SequenceLengths& lengths) {
  std::string out = "lengths (" + std::visit(InWords{}, lengths.distribution);
  if (lengths.maximum > 0) out += fmt::format(", at most {}", lengths.maximum);
  if (lengths.packing != SequenceLengths::SequencePacking::none)
    out += fmt::format(", {}", name(lengths.packing));
  if (lengths.pad == SequenceLengths::kFull) out += ", padded to the maximum";
  if (lengths.pad > 1) out += fmt::format(", padded to {}", lengths.pad);
  return out + ")";
}

}  // namespace penstock::sim
