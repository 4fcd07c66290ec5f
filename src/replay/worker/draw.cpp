#include "worker/draw.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"

namespace penstock::replay {
namespace {

enum class DrawPurpose : std::uint64_t { weights, input, target };

core::Random stream_of(const TrainingSetup& setup, DrawPurpose purpose, core::OpId op, std::int64_t number) {
  std::uint64_t state = setup.seed;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(purpose), std::uint64_t{op.index()}, static_cast<std::uint64_t>(number)})
    state = core::Random(state ^ (part * 0x9e3779b97f4a7c15u + 1)).next();
  return core::Random(state);
}

/// Draws value(random) for every element of every sample; each sample has its own stream.
template <class Value>
DrawnTensor per_sample(const TrainingSetup& setup, DrawPurpose purpose, core::OpId op, std::int64_t count,
                       SampleRange samples, const Value& value) {
  return {samples.count * count, [=](std::int64_t begin, std::span<double> out) {
            while (!out.empty()) {
              const std::int64_t sample = begin / count, from = begin % count;
              core::Random random = stream_of(setup, purpose, op, samples.first + sample);
              random.skip(static_cast<std::uint64_t>(from));
              const auto here = out.first(std::min(out.size(), static_cast<std::size_t>(count - from)));
              for (double& one : here) one = value(random);
              begin += std::ssize(here);
              out = out.subspan(here.size());
            }
          }};
}

double symmetric(core::Random& random) {
  return 2 * random.unit() - 1;
}

/// Consecutive numbers of a shard that are also consecutive in the whole tensor.
struct ShardStretch {
  std::int64_t to, from, count;
};

std::vector<ShardStretch> stretches_of(const TensorShard& shard, std::int64_t all) {
  std::vector<ShardStretch> out;
  each_common(shard, {1, all, {{0, all}}}, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    out.push_back({to, from, count});
  });
  return out;
}

}  // namespace

std::vector<double> DrawnTensor::values() const {
  std::vector<double> out(static_cast<std::size_t>(count));
  piece(0, out);
  return out;
}

DrawnTensor first_weights(const TrainingSetup& setup, kernels::ParameterRef parameter,
                          const kernels::Slot& slot) {
  const core::Random first =
      stream_of(setup, DrawPurpose::weights, parameter.op, static_cast<std::int64_t>(parameter.slot));
  return {slot.count(), [first, reach = kernels::reach(slot)](std::int64_t begin, std::span<double> out) {
            core::Random random = first;
            random.skip(static_cast<std::uint64_t>(begin));
            for (double& value : out) value = reach * symmetric(random);
          }};
}

DrawnTensor input_values(const TrainingSetup& setup, core::OpId op, const kernels::OperatorWiring& wire,
                         SampleRange samples) {
  const auto rows = static_cast<double>(wire.rows);
  return per_sample(setup, DrawPurpose::input, op, wire.made.count, samples, [rows](core::Random& random) {
    return rows > 0 ? std::floor(rows * random.unit()) : symmetric(random);
  });
}

DrawnTensor target_values(const TrainingSetup& setup, core::OpId op, const kernels::OperatorWiring& wire,
                          SampleRange samples) {
  return per_sample(setup, DrawPurpose::target, op, wire.made.count, samples, symmetric);
}

DrawnTensor negative(DrawnTensor drawn) {
  return {drawn.count, [piece = std::move(drawn.piece)](std::int64_t begin, std::span<double> out) {
            piece(begin, out);
            for (double& value : out) value = -value;
          }};
}

void write(kernels::Backend& backend, kernels::Buffer& to, const TensorShard& shard, const DrawnTensor& all) {
  core::require(shard.count() == to.count(), "a buffer has room for the shard, and no more");
  const std::vector<ShardStretch> stretches = stretches_of(shard, all.count);
  kernels::write_pieces(backend, to, [&](std::int64_t begin, std::span<double> out) {
    auto at = std::ranges::upper_bound(stretches, begin, {}, &ShardStretch::to) - 1;
    for (; !out.empty(); ++at) {
      const std::int64_t skipped = begin - at->to;
      const auto here = out.first(std::min(out.size(), static_cast<std::size_t>(at->count - skipped)));
      all.piece(at->from + skipped, here);
      begin += std::ssize(here);
      out = out.subspan(here.size());
    }
  });
}

}  // namespace penstock::replay
