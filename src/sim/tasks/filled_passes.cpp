#include "tasks/filled_passes.hpp"

#include <algorithm>

#include "penstock/sim/perturbation.hpp"

namespace penstock::sim {
namespace {

cost::OperatorSets operators_of(const std::vector<cost::GradientBucket>& buckets) {
  cost::OperatorSets out;
  for (const cost::GradientBucket& bucket : buckets) out.push_back(bucket.operators);
  return out;
}

}  // namespace

FilledTimes::FilledTimes(const cost::Problem& problem, const plan::Plan& plan) : models_(problem) {
  for (const plan::Stage& stage : plan.stages) {
    const program::SampleSharing sharing(plan, stage);
    std::vector<std::int64_t> samples;
    for (std::int64_t r = 0; r < sharing.replicas; ++r)
      samples.push_back(std::max<std::int64_t>(1, sharing.size(r)));
    passes_.push_back(
        std::make_unique<cost::LengthTimes>(models_, stage, cost::OperatorSets{stage.operators}, samples));
    pieces_.push_back(std::make_unique<cost::LengthTimes>(
        models_, stage, operators_of(cost::buckets(problem, stage)), std::move(samples)));
  }
}

cost::StageTime FilledTimes::pass(std::size_t stage, std::size_t replica, const layout::SampleFill& fill) {
  return passes_[stage]->times(replica, fill).front();
}

std::vector<cost::StageTime> FilledTimes::pieces(std::size_t stage, std::size_t replica,
                                                 const layout::SampleFill& fill) {
  return pieces_[stage]->times(replica, fill);
}

std::shared_ptr<FilledTimes> filled_times(const cost::Problem& problem, const plan::Plan& plan,
                                          const SimulationOptions& options) {
  if (options.perturbation == nullptr || !options.perturbation->lengths) return nullptr;
  const SequenceLengths& lengths = *options.perturbation->lengths;
  room(lengths, problem.graph);  // throws if the model has no room
  try {
    return std::make_shared<FilledTimes>(problem, plan);
  } catch (const core::BadInput& e) {
    throw core::BadInput(lengths.place, e.what());
  }
}

FilledSamples::FilledSamples(const cost::Problem& problem, const plan::Plan& plan, std::int64_t mini_batches,
                             const SimulationOptions& options)
    : sequence_(layout::sequence(problem.graph)), computed_(1, 0), meetings_(1, 0) {
  const SequenceLengths& lengths = *options.perturbation->lengths;
  const std::int64_t tokens = room(lengths, problem.graph);
  for (std::int64_t k = 0; k < mini_batches; ++k)
    for (const SampleContent& sample :
         fillings(lengths, tokens, plan.training.mini_batch, options.seed, k, options.stop)) {
      computed_.push_back(computed_.back() + sample.computed);
      meetings_.push_back(meetings_.back() + sample.meetings);
    }
}

layout::SampleFill FilledSamples::fill(const program::SampleRange& samples) const {
  const auto first = static_cast<std::size_t>(samples.first), end = static_cast<std::size_t>(samples.end());
  SampleContent filling;
  filling.computed = computed_[end] - computed_[first];
  filling.meetings = meetings_[end] - meetings_[first];
  return filling.per_sample(samples.count);
}

core::Bytes FilledSamples::bytes(core::Bytes per_sample, core::Bytes moving,
                                 const program::SampleRange& samples) const {
  const std::int64_t tokens =
      computed_[static_cast<std::size_t>(samples.end())] - computed_[static_cast<std::size_t>(samples.first)];
  const std::int64_t each = moving.value() / sequence_, rest = moving.value() % sequence_;
  return (per_sample - moving) * samples.count + core::Bytes(each * tokens + rest * tokens / sequence_);
}

}  // namespace penstock::sim
