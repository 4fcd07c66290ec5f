#include "penstock/program/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/graph/ties.hpp"
#include "penstock/plan/colocated.hpp"

namespace penstock::program {
namespace {

using core::StageId;
using schedule::Action;
using schedule::ActionKind;

/// Instructions of a stage's row other than passes.
struct RowUpdates {
  bool step = false;
  bool sums = false;
  std::int32_t buckets = 1;
};

bool weigh(const graph::OpGraph& graph, const std::vector<core::OpId>& operators) {
  return std::ranges::any_of(operators, [&](core::OpId op) { return graph.parameter_bytes(op).value() > 0; });
}

std::vector<RowUpdates> stage_needs(const graph::OpGraph& graph, const plan::Plan& plan,
                                    const std::vector<plan::SharedParameters>& shared,
                                    const std::vector<std::int32_t>& buckets) {
  std::vector<RowUpdates> out;
  for (const plan::Stage& stage : plan.stages) {
    RowUpdates needs;
    if (!buckets.empty()) needs.buckets = buckets[out.size()];
    needs.step = weigh(graph, stage.operators) || !graph::borrowed(graph, stage.operators).empty();
    needs.sums = needs.buckets > 1 ||
                 (plan::reduces_gradients(stage) && weigh(graph, plan::unshared(stage.operators, shared)));
    out.push_back(needs);
  }
  return out;
}

class RowBuilder {
 public:
  RowBuilder(const std::vector<RowUpdates>& needs, const LoweringOptions& options)
      : needs_(needs), options_(options) {}

  RankProgram build(const schedule::RankOrder& row) {
    row_.reserve(row.size());
    for (const Action& action : row) add(action);
    return std::move(out_);
  }

 private:
  void add(const Action& action) {
    if (action.kind == ActionKind::idle) return;
    if (action.kind == ActionKind::barrier) return update({.kind = action.kind});
    const StageId stage(static_cast<std::size_t>(action.stage));
    if (action.kind == ActionKind::reduce_gradient) return sum(stage);
    if (action.kind == ActionKind::step) {
      if (needs_[stage.index()].step) update({.kind = action.kind, .stage = stage});
      return;
    }
    bool joined = false;
    for (const Action& part : parts(action)) {
      if (!computes(part.kind))
        throw core::BadInput(token(part) + " is neither a pass nor an update of a plan");
      const Instruction pass{.kind = part.kind,
                             .joined = joined,
                             .stage = StageId(static_cast<std::size_t>(part.stage)),
                             .micro_batch = part.micro_batch};
      action.kind == ActionKind::overlapped ? row_.push_back(pass) : cut(pass);
      joined = !options_.pairs_apart;
    }
  }
  /// Cuts a pass into its pieces, if it has several.
  void cut(Instruction pass) {
    const std::size_t pieces = options_.pieces ? options_.pieces(pass.stage, pass.kind, pass.bucket) : 1;
    constexpr std::size_t kMost = std::numeric_limits<std::int16_t>::max();
    if (pieces > kMost)
      throw core::Error(
          core::ExitCode::limit,
          fmt::format("a pass of stage {} has {} collectives, which take no more than {} pieces: "
                      "they may be of closed form",
                      pass.stage.index(), pieces - 1, kMost));
    if (pieces == 1) return row_.push_back(pass);
    for (pass.piece = 0; pass.piece < static_cast<std::int16_t>(pieces); ++pass.piece) row_.push_back(pass);
  }
  void update(const Instruction& instruction) {
    out_.updates.push_back(static_cast<std::int32_t>(row_.size()));
    row_.push_back(instruction);
  }

  void sum(StageId stage) {
    const RowUpdates& needs = needs_[stage.index()];
    if (!needs.sums) return;
    const bool by_bucket =
        needs.buckets > 1 && !row_.empty() && row_.back().stage == stage && !row_.back().joined;
    Instruction pass = by_bucket ? row_.back() : Instruction{};
    if (by_bucket)
      row_.resize(row_.size() - static_cast<std::size_t>(std::max<std::int16_t>(pass.piece, 0)) - 1);
    pass.piece = -1;
    for (pass.bucket = 0; pass.bucket < needs.buckets; ++pass.bucket) {
      if (by_bucket) cut(pass);
      update({.kind = ActionKind::reduce_gradient, .stage = stage, .bucket = pass.bucket});
    }
  }

  const std::vector<RowUpdates>& needs_;
  const LoweringOptions& options_;
  RankProgram out_;
  Row& row_ = out_.row;
};

/// Position after the row's last reduction and the last gradient of the stages that share; not before `from`.
std::size_t place_of(const plan::SharedParameters& shared, const Row& row, std::size_t from) {
  std::size_t updated = row.size();
  for (std::size_t p = row.size(); p-- > 0;) {
    const Instruction& i = row[p];
    const bool shares = std::ranges::count(shared.stages, i.stage) > 0;
    if (shares && i.kind == ActionKind::step) updated = p;
    if (i.kind == ActionKind::reduce_gradient || (shares && releases(i.kind))) from = std::max(from, p + 1);
  }
  if (from > updated)
    throw core::BadInput(fmt::format("{}STEP comes before the sum of what the stage shares with others",
                                     row[updated].stage.index()));
  return from;
}

void insert(RankProgram& rank, std::size_t place, const Instruction& instruction) {
  const auto position = static_cast<std::int32_t>(place);
  rank.row.insert(rank.row.begin() + position, instruction);
  const auto later = std::ranges::lower_bound(rank.updates, position);
  for (auto update = later; update != rank.updates.end(); ++update) ++*update;
  rank.updates.insert(later, position);
}

/// Position after the row's last gradient, and the last reduction among replicas, of stages behind the
/// pipeline.
std::size_t behind_tail(const Row& row, std::size_t behind) {
  std::size_t p = row.size();
  while (p > 0 && (row[p - 1].stage.index() < behind ||
                   !(releases(row[p - 1].kind) || row[p - 1].kind == ActionKind::reduce_gradient)))
    --p;
  return p;
}

void add_shared_sums(const plan::Plan& plan, Program& program, std::size_t rank) {
  std::size_t next = behind_tail(program.ranks[rank].row, plan::behind_pipeline(plan));
  for (const bool first : {true, false})
    for (std::size_t k = 0; k < program.shared.size(); ++k) {
      const auto& stages = program.shared[k].stages;
      const auto here =
          std::ranges::find_if(stages, [&](StageId s) { return program.stages[s.index()].rank == rank; });
      if (here == stages.end() || plan::summed_first(program.shared[k], plan) != first) continue;
      const std::size_t place = first ? next : place_of(program.shared[k], program.ranks[rank].row, next);
      insert(program.ranks[rank], place,
             {.kind = ActionKind::reduce_gradient, .stage = *here, .shared = static_cast<std::int32_t>(k)});
      next = place + 1;
    }
}

}  // namespace

Program lower(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled,
              const LoweringOptions& options) {
  const plan::Plan& plan = scheduled.plan;
  Program out;
  out.shared = plan::shared_parameters(graph, plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    out.stages.push_back({static_cast<std::size_t>(scheduled.order.rank_of_stage[s]),
                          SampleSharing(plan, plan.stages[s]),
                          {}});
  const auto needs = stage_needs(graph, plan, out.shared, options.buckets);
  for (const schedule::RankOrder& row : scheduled.order.ranks)
    out.ranks.push_back(RowBuilder(needs, options).build(row));
  for (std::size_t rank = 0; rank < out.ranks.size() && !plan::asynchronous(plan); ++rank)
    add_shared_sums(plan, out, rank);
  const std::int64_t samples = schedule::mini_batches(plan) * plan.training.mini_batch;
  for (std::size_t s = 0; s < out.stages.size(); ++s) {
    const plan::Recomputation& again = plan.stages[s].recompute;
    out.stages[s].index = index_stage(out.ranks[out.stages[s].rank].row, StageId(s), again && !again.early,
                                      static_cast<std::size_t>(samples / out.stages[s].sharing.round()));
  }
  return out;
}

std::vector<GradientSum> gradient_sums(const RankProgram& rank) {
  const auto at = [&](std::int32_t p) { return rank.row[static_cast<std::size_t>(p)]; };
  std::vector<GradientSum> out;
  for (const std::int32_t p : rank.updates) {
    const Instruction update = at(p);
    if (update.kind == ActionKind::reduce_gradient && update.shared < 0) out.push_back({p});
    if (update.kind != ActionKind::step) continue;
    std::set<std::int32_t> awaited;  // buckets
    for (GradientSum& sum : out)
      if (const Instruction of = at(sum.position);
          of.stage == update.stage && sum.step < 0 && awaited.insert(of.bucket).second)
        sum.step = p;
  }
  return out;
}

}  // namespace penstock::program
