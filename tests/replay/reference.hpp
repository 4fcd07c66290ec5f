#pragma once
// Training on one device, written as simply as can be: what replays are compared with.

#include <map>
#include <vector>

#include "penstock/kernels/backend.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/replay/training.hpp"

namespace penstock::replay::test {

using Values = std::vector<double>;
/// By operator that has parameters of its own, in the order of its slots.
using Weights = std::map<core::OpId, std::vector<Values>>;

Weights first_weights(const graph::OpGraph& graph, const TrainingSetup& setup);

/// Sums over the samples of the gradients of half the squared distance to the targets, by kernels::GraphRun.
/// `at_once` samples at a time: batch norm sees no more than its share.
Weights gradients(kernels::Backend& host, const graph::OpGraph& graph, const TrainingSetup& setup,
                  const Weights& weights, SampleRange samples, std::int64_t at_once);

/// The textbook's rule in double precision (kernels::UpdateRule has the formulas).
class ReferenceOptimizer {
 public:
  explicit ReferenceOptimizer(const kernels::UpdateRule& rule) : rule_(rule) {}
  void step(Weights& weights, const Weights& gradients);

 private:
  kernels::UpdateRule rule_;
  Weights moment_, variance_;
  int steps_ = 0;
};

double length(const Weights& weights);

/// The largest distance of two tensors, relative to the expected one, or to a thousandth of the longest
/// tensor of all where that is more. Numbers that ought to be zero are rounding.
double distance(const Weights& found, const Weights& expected);

}  // namespace penstock::replay::test
