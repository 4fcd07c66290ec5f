#pragma once
// No plan for this problem is faster than this, whoever makes it.

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

/// What devices of a plan divide beside samples. Bounds of a family hold for those before it too.
enum class PlanFamily : std::uint8_t {
  replicated,       ///< nothing: a device has all operators of its stage
  zero,             ///< weights, gradients and optimizer state (Stage::zero)
  tensor_parallel,  ///< operators, with ZeRO or without (Stage::tensor_parallel, Stage::context_parallel)
};
PlanFamily family_of(const plan::Plan& plan);
std::string_view name(PlanFamily family);  ///< "with ZeRO"

/// Why every plan takes its time. What is assumed of a plan is what plan::structural_violations and
/// score::violations ask for: every operator is in one stage, a stage runs on r devices, which it shares with
/// other stages as a whole or not at all; its micro-batch b divides the mini-batch B, and a replica takes
/// floor(b / r) or ceil(b / r) samples of it, its share. Schedules may interleave stages, split backward
/// passes and recompute. Below, F, I and W are an operator's forward, input and weight gradient time, each
/// the least over all shares that occur and fit in memory and over all device types, so nothing is assumed of
/// how times grow with samples, launch overheads and saturation included; "rate" is the least time per
/// sample. Transfers and slow-downs by overlap are left out. `down(v)` is the longest path of F up to and
/// with v, `up(v) = I(v) + max(W(v) and v's update, up of its producers)`: the way of one sample's gradient
/// back.
///
/// ZeRO: of D devices one holds and updates 1/D of the weights at least. Stages 2 and 3 send gradients and
/// weights in every micro-batch while other layers compute (cost::StageTime), so the all-reduce is not
/// counted.
///
/// Tensor parallelism: r replicas have groups of g <= D / r devices, with ZeRO or without. Groups may divide
/// tokens and experts (a local model), and what is left of an operator in one of four ways; the device of a
/// group with the largest part has 1/g of the operator or more. So F, I and W are the least over local
/// models, ways and parts that occur, for launches do not shrink with a part, and W ends with the update of a
/// D-th of the weights. All parts together take as long as the whole operator, so rates are those of whole
/// operators, on r g devices. A share fits where a g-th of its activations does, and a D-th of the weights.
enum class ProblemBoundKind : std::uint8_t {
  /// All devices together do all work. Devices of type t weigh y_t, their share of the cluster's speed: sum
  /// over operators
  /// of min_t y_t B rate_t. Proof: a device of type t works no longer than the iteration, and the y of all
  /// devices add up
  /// to 1 (linear programming duality; for one type it is work over devices). Every parameter is updated
  /// somewhere.
  work,
  /// Some sample goes down to v and its gradient comes up from v: max over v of down(v) + up(v).
  chain,
  /// One operator on r devices: the busiest replica has B rate / r to do, after the first sample has come
  /// down to it
  /// and before the last gradient has gone up; then the all-reduce of its parameters and the update. The
  /// least over r, the
  /// most over operators.
  operators,
  /// More devices than operators: some stage has ceil(devices / operators) replicas or more. The least over
  /// operators of
  /// what `operators` says of those. Not with tensor parallelism: they may be one group.
  replication,
  /// Little's law (Operations Research 1961) on bytes: devices hold the weights, and what each sample needs
  /// for its
  /// backward pass for F + I at least (a stage that recomputes holds it no longer), what attention's core
  /// keeps
  /// for I (it may be computed again alone), so time >= B sum kept (F + I) / the memory left.
  memory,
  /// The shares that make work cheap make the chain long. With a way p down and up as in `chain`, three
  /// times are below the iteration's: all work; the chain; and the way down, then the backward work of
  /// all operators from which p's turn is reached, for no device begins their backward passes before some
  /// sample has come down (release dates of machine scheduling: Carlier, EJOR 1982). So is any mean of
  /// them, and that is a sum over operators of terms in which its division alone stands, a share, a group
  /// size and one of the ways: time >= the sum of each term's least. Work counts g devices for as long as the
  /// largest
  /// part takes where that is more than the whole operator's rate, for a group's devices go on together:
  /// smaller kernels are slower. Ways tried: the longest by the least times; the one with the most work;
  /// and the mean of many, which is a bound as its terms are, so that branches beside the longest cannot
  /// have any share for nothing. Lagrangian relaxation of the problem in which every operator may be
  /// divided in another way; the best weights are searched for, all are valid.
  relaxation,
  /// Small shares are slow, and large ones stay long: with a way p as in `relaxation`, a sample's bytes are
  /// held at an operator while those behind it on p run, down and up again, each for as long as its share
  /// takes; or it is computed again, whole or attention's core alone, which is work. So all work over all
  /// devices, and bytes times stay over the memory left (as `memory`, where no operator stays longer than
  /// itself), are below the iteration's time, and any mean of them is, the least over all divisions of all
  /// operators (src/score/residency.hpp). Both are sums over samples, each of which is at an operator with
  /// so many others, on a device of one type and divided in one way: floor(b / r) and ceil(b / r) stand by
  /// themselves here.
  residency,
};
inline constexpr std::size_t kProblemBoundKinds = 7;
std::string_view name(ProblemBoundKind kind);

struct ProblemBound {
  ProblemBoundKind kind = ProblemBoundKind::work;
  core::Seconds time;
};

struct ProblemBounds {
  PlanFamily family = PlanFamily::replicated;  ///< whose plans the bounds hold for
  std::array<ProblemBound, kProblemBoundKinds>
      by_kind;                       ///< in the order of ProblemBoundKind; zero where none applies
  const ProblemBound& best() const;  ///< the largest; the first among equals
  /// Plans that do not flush overlap one iteration with the next, so that only the work counts: the time per
  /// iteration in the long run. A finite number of mini-batches may fall short of it by what the pipeline
  /// held in the beginning. Throws an internal error for a plan of a later family.
  const ProblemBound& holds_for(const plan::Plan& plan) const;
};

/// When gradients are reduced.
enum class Reduction : std::uint8_t {
  closed_form,  ///< after its own backward passes, at once or in buckets, in the time of
                ///< cost::all_reduce
  free,         ///< in any way, while passes run: all-reduces are left out of the bounds
};

/// Called every few milliseconds by long work, from several threads; what it throws ends the work.
using BoundCheck = std::function<void()>;

/// Bounds for all plans of a family. A thousand-millionth is taken off, for the simulator rounds every task
/// to the picosecond. Assumes that an update of more bytes takes longer and that two take longer than one of
/// both; of tensor-parallel groups that a part p of an operator takes p of the whole or longer at the same
/// samples, and no longer than a larger part (tests/cost/sharding_test). Time is in proportion to operators
/// times device count times divisors of the mini-batch; with groups, times the logarithm of the device count
/// besides. On more than 128 devices groups count by the whole operator's rate and the smallest part. Throws
/// Infeasible when the weights do not fit or no share of some operator does, however the family divides them,
/// BadInput when the mini-batch is no count of samples.
ProblemBounds problem_bounds(const cost::Problem& problem, Reduction reduction = Reduction::closed_form,
                             PlanFamily family = PlanFamily::replicated, const BoundCheck& check = {});

/// What no plan beats that divides as much as this one and flushes, or not, as it does. Throws as above.
ProblemBound bound_for(const cost::Problem& problem, const plan::Plan& plan,
                       Reduction reduction = Reduction::closed_form, const BoundCheck& check = {});

}  // namespace penstock::score
