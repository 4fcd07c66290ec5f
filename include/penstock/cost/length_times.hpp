#pragma once
// Seconds of passes whose samples are not full.

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "penstock/cost/sharding.hpp"
#include "penstock/layout/lengths.hpp"

namespace penstock::cost {

/// A problem's model at shorter sequences, each made once. Safe to call from any thread.
class ShorterModels {
 public:
  /// Throws BadInput for a model without attention, and for costs that do not go by an operator's extents
  /// (CostModel::goes_by_extents). The problem must outlive it.
  explicit ShorterModels(const Problem& problem);
  const Problem& whole() const { return problem_; }
  std::int64_t sequence() const { return sequence_; }  ///< tokens of a full sample
  /// layout::shortened; with all tokens and keys the model itself.
  std::shared_ptr<const graph::OpGraph> at(std::int64_t tokens, std::int64_t keys);

 private:
  const Problem& problem_;
  std::int64_t sequence_;
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const graph::OpGraph>> known_;
};

/// Times of a stage, or of several sets of its operators, by what its samples are filled with. They have all
/// parts of ReplicaTimes (products, attention, collectives of groups, recomputation, ZeRO), from the cost
/// model for the model at that length. Of mixed lengths n samples count as n of their mean: products see the
/// right number of tokens, attention the right sum of squared lengths (layout::Fill).
///
/// Approximate: between eighths of the sequence, and below an eighth between powers of two of tokens, times
/// are linear in tokens and in keys. A kernel that computes several sequences at a time is as fast as one
/// that computes equal ones; a context group's members have equal parts of every sequence. Full samples, and
/// equal ones of such a length, have the times of ReplicaTimes to the last bit.
///
/// Safe to call from any thread.
class LengthTimes {
 public:
  /// `samples` by replica, of each pass. Models and stage must outlive it.
  LengthTimes(ShorterModels& models, const plan::Stage& stage, OperatorSets sets,
              std::vector<std::int64_t> samples);
  /// By set. A sample has one token at least.
  std::vector<StageTime> times(std::size_t replica, const layout::SampleFill& fill);

 private:
  using Knot = std::pair<std::int64_t, std::int64_t>;  ///< tokens, keys
  const std::vector<StageTime>& at(Knot knot, std::size_t replica);
  std::vector<StageTime> between_keys(std::int64_t tokens, double keys, std::size_t replica);

  ShorterModels& models_;
  const plan::Stage& stage_;
  OperatorSets sets_;
  std::vector<std::int64_t> samples_;
  std::vector<std::int64_t> knots_;  ///< ascending
  std::mutex mutex_;
  std::map<Knot, std::vector<std::vector<StageTime>>> known_;  ///< by replica, by set
};

}  // namespace penstock::cost
