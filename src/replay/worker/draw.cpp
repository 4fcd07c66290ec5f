#include "worker/draw.hpp"

#include <cmath>

#include "penstock/core/random.hpp"

namespace penstock::replay {
namespace {

enum class Purpose : std::uint64_t { weights, input, target };

core::Random stream_of(const TrainingSetup& setup, Purpose purpose, core::OpId op, std::int64_t number) {
  std::uint64_t state = setup.seed;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(purpose), std::uint64_t{op.index()}, static_cast<std::uint64_t>(number)})
    state = core::Random(state ^ (part * 0x9e3779b97f4a7c15u + 1)).next();
  return core::Random(state);
}

/// draw(random) for every element of every sample.
template <class Draw>
std::vector<double> per_sample(const TrainingSetup& setup, Purpose purpose, core::OpId op, std::int64_t count,
                               Samples samples, const Draw& draw) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(samples.count * count));
  for (std::int64_t sample = samples.first; sample < samples.end(); ++sample) {
    core::Random random = stream_of(setup, purpose, op, sample);
    for (std::int64_t i = 0; i < count; ++i) values.push_back(draw(random));
  }
  return values;
}

double symmetric(core::Random& random) {
  return 2 * random.unit() - 1;
}

}  // namespace

std::vector<double> first_weights(const TrainingSetup& setup, kernels::ParameterRef parameter,
                                  const kernels::Slot& slot) {
  core::Random random =
      stream_of(setup, Purpose::weights, parameter.op, static_cast<std::int64_t>(parameter.slot));
  std::vector<double> values(static_cast<std::size_t>(slot.count()));
  for (double& value : values) value = kernels::reach(slot) * symmetric(random);
  return values;
}

std::vector<double> input_values(const TrainingSetup& setup, core::OpId op, const kernels::Wire& wire,
                                 Samples samples) {
  const auto rows = static_cast<double>(wire.rows);
  return per_sample(setup, Purpose::input, op, wire.made.count, samples, [rows](core::Random& random) {
    return rows > 0 ? std::floor(rows * random.unit()) : symmetric(random);
  });
}

std::vector<double> target_values(const TrainingSetup& setup, core::OpId op, const kernels::Wire& wire,
                                  Samples samples) {
  return per_sample(setup, Purpose::target, op, wire.made.count, samples, symmetric);
}

}  // namespace penstock::replay
