#pragma once
// Gradients that are reduced together while the last backward pass runs on.

#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Content of one bucket of gradients: the latest operators first, as backward passes finish them.
struct GradientBucket {
  std::vector<core::OpId> operators;
  core::Bytes gradients;
};

/// Bytes of gradients at which a bucket of a stage closes; 0: it never does. Training::bucket, except of stages that
/// the framework gives one bucket: with Megatron-LM all that hold no source of the model
/// (FrameworkMemory::buckets_first_chunk).
core::Bytes bucket_size(const Problem& problem, const plan::Stage& stage);

/// A stage's operators in buckets of at least bucket_size() bytes of gradients, the last one with what is
/// left. There is one bucket when that is 0 or the stage has nothing to reduce, or only with other ranks (a
/// part of a colocated stage). Operators without parameters go with those before them; copies of parameters
/// that other stages own count in the last one.
std::vector<GradientBucket> buckets(const Problem& problem, const plan::Stage& stage);

}  // namespace penstock::cost
