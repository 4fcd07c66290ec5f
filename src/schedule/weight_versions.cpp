#include "penstock/schedule/weight_versions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::schedule {
namespace {

/// [micro-batch] number of micro-batches whose updates it met in the first stage.
using Entries = std::map<std::int32_t, std::int64_t>;

bool ends_gradient(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::weight_gradient;
}

template <class Visit>
void each_part(const RankOrder& row, Visit visit) {
  for (std::size_t c = 0; c < row.size(); ++c)
    for (const Action& part : parts(row[c])) visit(c, part);
}

/// [stage] number of ranks that run it.
std::map<std::int32_t, int> replicas(const std::vector<RankOrder>& rows) {
  std::map<std::int32_t, int> out;
  for (const RankOrder& row : rows) {
    std::map<std::int32_t, bool> named;
    each_part(row, [&](std::size_t, const Action& part) {
      if (part.kind == ActionKind::forward && !std::exchange(named[part.stage], true)) ++out[part.stage];
    });
  }
  return out;
}

Entries entries(const std::vector<RankOrder>& rows, int first_stage_replicas, std::int64_t per_update) {
  Entries out;
  for (const RankOrder& row : rows) {
    std::int64_t done = 0;
    each_part(row, [&](std::size_t, const Action& part) {
      if (part.stage != 0) return;
      if (part.kind == ActionKind::forward)
        out[part.micro_batch] = done / per_update * per_update * first_stage_replicas;
      done += ends_gradient(part.kind);
    });
  }
  return out;
}

/// A micro-batch between its forward and the end of its backward.
struct InFlight {
  std::int64_t version = 0;  ///< updates in the weights its forward used
  std::int64_t ideal = 0;    ///< updates that sequential training would have made before it
};

/// One stage on one rank: its weight versions, and those that later passes still need.
class StageVersions {
 public:
  /// `planned`: versions that its forwards will use, ascending, if known beforehand.
  StageVersions(std::vector<std::int64_t> planned, std::int64_t per_update, bool stash)
      : planned_(std::move(planned)), per_update_(per_update), stash_(stash) {
    foresee();
  }

  std::int64_t newest() const { return done_ / per_update_; }

  const InFlight& forward(std::int32_t micro_batch) {
    const std::int64_t version = planned_.empty() ? newest() : planned_[static_cast<std::size_t>(begun_)];
    if (planned_.empty() && stash_) ++needed_[version];
    return in_flight_[micro_batch] = {version, begun_++ / per_update_};
  }
  std::int64_t staleness(std::int32_t micro_batch, bool forward) {
    const InFlight& own = in_flight_[micro_batch];
    return own.ideal - (forward || stash_ ? own.version : newest());
  }
  void finish(std::int32_t micro_batch) {
    const auto needed = needed_.find(in_flight_[micro_batch].version);
    if (needed != needed_.end() && --needed->second == 0) needed_.erase(needed);
    in_flight_.erase(micro_batch);
    ++done_;
    foresee();
  }
  int held() const { return static_cast<int>(needed_.size() + (needed_.contains(newest()) ? 0 : 1)); }

 private:
  /// Marks existing versions that later forwards are planned to use.
  void foresee() {
    for (; foreseen_ < planned_.size() && planned_[foreseen_] <= newest(); ++foreseen_)
      ++needed_[planned_[foreseen_]];
  }

  std::vector<std::int64_t> planned_;
  std::int64_t per_update_, begun_ = 0, done_ = 0;
  bool stash_;
  std::size_t foreseen_ = 0;
  std::map<std::int32_t, InFlight> in_flight_;
  std::map<std::int64_t, int> needed_;  ///< [version] micro-batches that need it
};

class VersionFollower {
 public:
  VersionFollower(const std::vector<RankOrder>& rows, const WeightPolicy& policy, int per_update)
      : rows_(rows),
        policy_(policy),
        per_update_(policy.flush ? std::numeric_limits<std::int32_t>::max() : per_update),
        replicas_(replicas(rows)),
        entries_(entries(rows, replicas_[0], per_update_)) {}

  void follow(std::size_t rank, WeightVersions& out) {
    std::map<std::int32_t, StageVersions> stages = stages_of(rows_[rank]);
    auto& staleness = out.staleness.emplace_back(rows_[rank].size(), -1);
    int& held = out.held.emplace_back(1);
    each_part(rows_[rank], [&](std::size_t c, const Action& part) {
      const auto found = stages.find(part.stage);
      if (found == stages.end()) return;
      StageVersions& stage = found->second;
      if (part.kind == ActionKind::forward) check(stage, stage.forward(part.micro_batch), rank, c);
      if (const auto late = missed(stage, part))
        staleness[c] = std::max(staleness[c], static_cast<int>(*late));
      held = std::max(held, stage.held());
      if (ends_gradient(part.kind)) stage.finish(part.micro_batch);
      held = std::max(held, stage.held());
    });
  }

 private:
  std::map<std::int32_t, StageVersions> stages_of(const RankOrder& row) {
    std::map<std::int32_t, std::vector<std::int64_t>> planned;
    each_part(row, [&](std::size_t, const Action& part) {
      if (part.kind != ActionKind::forward) return;
      auto& versions = planned[part.stage];
      if (const auto version = plan(part, versions.size())) versions.push_back(*version);
    });
    std::map<std::int32_t, StageVersions> out;
    for (auto& [stage, versions] : planned)
      out.emplace(stage, StageVersions(std::move(versions), per_update_, policy_.stash));
    return out;
  }

  /// Version for a stage's forward number `place` on its rank; nothing for the newest.
  std::optional<std::int64_t> plan(const Action& forward, std::size_t place) {
    if (policy_.forward == ForwardWeights::as_entered)
      return entries_[forward.micro_batch] / (per_update_ * replicas_[forward.stage]);
    if (policy_.forward == ForwardWeights::one_behind)
      return std::max<std::int64_t>(static_cast<std::int64_t>(place) / per_update_ - 1, 0);
    return {};
  }

  static std::optional<std::int64_t> missed(StageVersions& stage, const Action& part) {
    if (part.kind == ActionKind::forward) return stage.staleness(part.micro_batch, true);
    if (part.kind != ActionKind::backward && part.kind != ActionKind::input_gradient) return {};
    return stage.staleness(part.micro_batch, false);
  }

  void check(const StageVersions& stage, const InFlight& use, std::size_t rank, std::size_t cell) const {
    if (use.version <= stage.newest()) return;
    throw core::BadInput(
        fmt::format("rank {} cell {} ({}): wants weights after {} updates, but there have been {}; more "
                    "micro-batches per "
                    "update are needed",
                    rank, cell, token(rows_[rank][cell]), use.version, stage.newest()));
  }

  const std::vector<RankOrder>& rows_;
  const WeightPolicy& policy_;
  std::int64_t per_update_;
  std::map<std::int32_t, int> replicas_;
  Entries entries_;
};

RankOrder round_robin_order(int stage, int replicas, int replica, int warm_up, int micro_batches) {
  RankOrder row;
  int f = replica;
  const auto next_forward = [&] {
    if (f < micro_batches) row.push_back(forward(stage, f));
    f += replicas;
  };
  for (int k = 0; k < warm_up; ++k) next_forward();
  for (int b = replica; b < micro_batches; b += replicas) {
    next_forward();
    row.push_back(backward(stage, b));
  }
  return row;
}

}  // namespace

const std::vector<WeightPolicy>& weight_policies() {
  using enum ForwardWeights;
  static const std::vector<WeightPolicy> policies = {
      {"flush", newest, false, false, 0, true,
       "Huang et al., GPipe, NeurIPS 2019: one update, when all is done"},
      {"stashing", newest, true, false, 0, false, "Narayanan et al., PipeDream, SOSP 2019, section 3.3"},
      {"vertical_sync", as_entered, true, false, 0, false,
       "Narayanan et al., PipeDream, SOSP 2019, section 3.3; off in their runtime"},
      {"double_buffered", one_behind, true, false, 0, false, "Narayanan et al., PipeDream-2BW, ICML 2021"},
      {"latest", newest, false, false, 1, false,
       "Yang et al., PipeMare, MLSys 2021; on 1F1B; the buffer is the velocity that corrects the "
       "discrepancy"},
      {"predicted", newest, false, true, 1, false,
       "Guan et al., XPipe, arXiv 1911.04610, 2019; on 1F1B with an update per micro-batch; the buffer holds "
       "the predicted weights"},
  };
  return policies;
}

const WeightPolicy& weight_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const WeightPolicy& policy : weight_policies()) {
    if (policy.name == name) return policy;
    names.push_back(policy.name);
  }
  throw core::BadInput(fmt::format("unknown weight policy '{}'; {}", name, core::did_you_mean(name, names)));
}

WeightVersions weight_versions(const std::vector<RankOrder>& rows, const WeightPolicy& policy,
                               int per_update) {
  if (per_update < 1) throw core::BadInput("an update needs at least one micro-batch");
  VersionFollower follower(rows, policy, per_update);
  WeightVersions out;
  for (std::size_t r = 0; r < rows.size(); ++r) follower.follow(r, out);
  return out;
}

std::vector<RankOrder> round_robin_orders(const std::vector<int>& replicas, int micro_batches) {
  int ranks = 0, earlier = 0;
  for (const int count : replicas) {
    if (count < 1 || micro_batches % count != 0)
      throw core::BadInput(
          fmt::format("{} micro-batches do not go evenly to {} replicas", micro_batches, count));
    ranks += count;
  }
  std::vector<RankOrder> out;
  for (std::size_t s = 0; s < replicas.size(); earlier += replicas[s++])
    for (int r = 0; r < replicas[s]; ++r)
      out.push_back(round_robin_order(static_cast<int>(s), replicas[s], r,
                                      (ranks - 1 - earlier) / replicas[s], micro_batches));
  return out;
}

}  // namespace penstock::schedule
