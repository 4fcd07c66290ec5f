#pragma once
// Lower bounds on the iteration time of every plan for a problem.

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

/// Families of plans, by what their devices divide in addition to samples. The bounds of a family also hold
/// for the families before it.
enum class PlanFamily : std::uint8_t {
  replicated,       ///< nothing: each device has all operators of its stage
  zero,             ///< weights, gradients and optimizer state (Stage::zero)
  tensor_parallel,  ///< operators, with ZeRO or without (Stage::tensor_parallel, Stage::context_parallel)
};
PlanFamily family_of(const plan::Plan& plan);
std::string_view name(PlanFamily family);  ///< text such as "with ZeRO"

/// Kinds of bounds. A plan is assumed to pass plan::structural_violations and score::violations. So every
/// operator is in one stage, and a stage runs on r devices, all or none of which it shares with another
/// stage. Its micro-batch b divides the mini-batch B; a replica's share of it is floor(b / r) or ceil(b / r)
/// samples. Schedules may interleave stages, split backward passes and recompute. Below, F, I and W are an
/// operator's forward, input gradient and weight gradient time. Each is the minimum over all shares that
/// occur and fit into memory, and over all device types. So nothing is assumed about how times grow with
/// samples; launch overheads and saturation are included. "rate" is the minimum time per sample. Transfers
/// and slow-downs by overlap are left out. `down(v)` is the longest path of F up to and including v. `up(v) =
/// I(v) + max(W(v) and v's update, up of its producers)` is the return path of one sample's gradient.
///
/// ZeRO: one of D devices holds and updates at least 1/D of the weights. Stages 2 and 3 send gradients and
/// weights in every micro-batch while other layers compute (cost::StageTime), so the all-reduce is not
/// counted.
///
/// Tensor parallelism: r replicas have groups of g <= D / r devices, with or without ZeRO. Groups may divide
/// tokens and experts (a local model), and the rest of an operator in one of four ways. The device of a group
/// with the largest part has at least 1/g of the operator. So F, I and W are minima over local models, ways
/// and parts, because launches do not shrink with a part. W ends with the update of 1/D of the weights. All
/// parts together take as long as the whole operator, so rates are those of whole operators, on r g devices.
/// A share fits if 1/g of its activations and 1/D of the weights fit.
enum class ProblemBoundKind : std::uint8_t {
  /// All devices together do all the work. Devices of type t have weight y_t, their share of the cluster's
  /// speed: sum over operators of min_t y_t B rate_t. Proof: a device of type t works no longer than the
  /// iteration. The y of all devices add up to 1 (linear programming duality; for one type this is work over
  /// devices). Every parameter is updated somewhere.
  work,
  /// One sample goes down to v and its gradient comes back from v: max over v of down(v) + up(v).
  chain,
  /// One operator on r devices. The busiest replica has B rate / r to do, after the first sample has come
  /// down to it and before the last gradient has gone up. Then follow the all-reduce of its parameters and
  /// the update. Minimum over r, maximum over operators.
  operators,
  /// More devices than operators: some stage has at least ceil(devices / operators) replicas. Minimum over
  /// operators of the bound `operators` for that many. Not with tensor parallelism, where these devices may
  /// be one group.
  replication,
  /// Little's law (Operations Research 1961) on bytes. Devices hold the weights, and each sample's saved
  /// tensors for at least F + I; a stage that recomputes holds them no longer. Tensors of attention's core
  /// are held for I, because the core may be recomputed. So time >= B sum kept (F + I) / the memory left.
  memory,
  /// Shares that make work cheap make the chain long. For a path p down and up as in `chain`, three times are
  /// below the iteration's: all work, the chain, and a third. The third is the way down plus the backward
  /// work of all operators from which p's turn is reached. No device begins their backward passes before some
  /// sample has come down (release dates of machine scheduling: Carlier, EJOR 1982). Any mean of them is also
  /// below it. Such a mean is a sum of terms, one per operator, that depend only on how that operator is
  /// divided: its share, group size and way. So time >= the sum of each term's minimum. Work counts g devices
  /// for as long as the largest part takes, if that is more than the whole operator's rate. A group's devices
  /// proceed together, and smaller kernels are slower. Paths tried: the longest by minimum times, the one
  /// with the most work, and the mean of many paths. The mean is valid because each path gives a bound; with
  /// it, branches beside the longest path cannot have any share at no cost. This is a Lagrangian relaxation
  /// of the problem in which every operator may be divided differently; multipliers are searched, and all are
  /// valid.
  relaxation,
  /// Small shares are slow, and large shares hold memory long. For a path p as in `relaxation`, a sample's
  /// bytes are held at an operator while the operators behind it on p run, down and up. Each runs for as long
  /// as its share takes. Or they are recomputed, whole or only attention's core, which is work. So two times
  /// are below the iteration's. One is all work over all devices, the other bytes times duration over the
  /// memory left (as `memory`, where no operator holds longer than itself). Any mean of both is a bound,
  /// minimised over all divisions of all operators (src/score/residency.hpp). Both are sums over samples;
  /// each sample is at an operator with others, on a device of one type, divided in one way. So floor(b / r)
  /// and ceil(b / r) count separately here.
  residency,
};
inline constexpr std::size_t kProblemBoundKinds = 7;
std::string_view name(ProblemBoundKind kind);

struct ProblemBound {
  ProblemBoundKind kind = ProblemBoundKind::work;
  core::Seconds time;
};

struct ProblemBounds {
  PlanFamily family = PlanFamily::replicated;  ///< family of plans that the bounds hold for
  std::array<ProblemBound, kProblemBoundKinds>
      by_kind;                       ///< in the order of ProblemBoundKind; zero if a kind does not apply
  const ProblemBound& best() const;  ///< the largest bound; the first among equals
  /// Bound that holds for `plan`. Plans without a flush overlap iterations, so only `work` holds: the time
  /// per iteration in the long run. A finite number of mini-batches may fall below it by what the pipeline
  /// held at the start. Throws an internal error for a plan of a later family.
  const ProblemBound& holds_for(const plan::Plan& plan) const;
};

/// When gradients are reduced.
enum class ReductionTiming : std::uint8_t {
  /// After the operator's own backward passes, at once or in buckets, in the time of cost::all_reduce.
  closed_form,
  free,  ///< at any time while passes run: bounds leave all-reduces out
};

/// Long work calls it every few milliseconds, from several threads; an exception from it ends the work.
using BoundCheck = std::function<void()>;

/// Bounds for all plans of a family. They are reduced by a factor of 1e-9, because the simulator rounds every
/// task to a picosecond. Assumptions: an update of more bytes takes longer, and two updates take longer than
/// one of both. In tensor-parallel groups, a part p of an operator takes at least p of the whole at the same
/// samples, and no longer than a larger part (tests/cost/sharding_test). Time is proportional to operators
/// times device count times divisors of the mini-batch; with groups, also times the logarithm of the device
/// count. On more than 128 devices, groups use the whole operator's rate and the smallest part. Throws
/// Infeasible if the weights do not fit, or no share of some operator fits, however the family divides them.
/// Throws BadInput if the mini-batch is not a valid number of samples.
ProblemBounds problem_bounds(const cost::Problem& problem,
                             ReductionTiming reduction = ReductionTiming::closed_form,
                             PlanFamily family = PlanFamily::replicated, const BoundCheck& check = {});

/// Bound for all plans of the family of `plan` that flush if and only if it does. Throws like problem_bounds.
ProblemBound bound_for(const cost::Problem& problem, const plan::Plan& plan,
                       ReductionTiming reduction = ReductionTiming::closed_form,
                       const BoundCheck& check = {});

}  // namespace penstock::score
