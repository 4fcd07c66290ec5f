#include "joint/walk.hpp"

#include <algorithm>
#include <utility>

#include "local/first_least.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::planners {
namespace {

constexpr std::size_t kSideBySide = 32;   ///< moves evaluated in parallel
constexpr std::size_t kPatience = 192;    ///< moves without success after which a descent from a kick stops
constexpr int kFruitless = 48;            ///< kicks from the same best plan after which the walk ends
constexpr int kMostKicks = 4;             ///< maximum moves per kick
constexpr std::size_t kManyDevices = 64;  ///< plans on fewer devices count less
/// Parts of a plan in which evaluations are counted; a plan on few devices counts one.
constexpr std::size_t kParts = 4;
/// Forward passes of all stages: each full multiple adds one to the count.
constexpr std::int64_t kManyPasses = 1024;
constexpr std::int64_t kLargeGroup = 8;  ///< devices per group beyond which a pass counts several times
constexpr int kTries = 4;  ///< attempts per kick to reach a new plan; few succeed if memory is tight

template <class List>
void shuffle(List& list, core::Random& random) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[static_cast<std::size_t>(random.between(0, static_cast<int>(i) - 1))]);
}

}  // namespace

IteratedSearch::IteratedSearch(const PlanSpace& space, const JointJudge& judge, ChangeScope change,
                               JudgedDraft start, std::uint64_t seed, core::StopToken stop)
    : space_(&space),
      judge_(&judge),
      change_(change),
      random_(seed),
      stop_(stop),
      now_(start),
      best_(std::move(start)) {
  met_.insert(space_->key(best_.draft));
}

void IteratedSearch::go_on(std::size_t plans, const std::function<void()>& stepped) {
  goal_ = spent_ + plans * kParts;
  while (spent_ < goal_ && kicks_ < kFruitless) {
    while (spent_ < goal_ && descend()) stepped();
    if (spent_ < goal_) kick();
    stepped();
  }
}

/// Interleaves kinds of moves, so that kinds with few moves are tried soon.
std::vector<Move> IteratedSearch::shuffled(const PlanDraft& draft) {
  auto kinds = moves(MoveContext(*space_, draft), change_);
  std::size_t longest = 0;
  for (Moves& kind : kinds) {
    shuffle(kind, random_);
    longest = std::max(longest, kind.size());
  }
  std::vector<Move> out;
  for (std::size_t i = 0; i < longest; ++i)
    for (Moves& kind : kinds)
      if (i < kind.size()) out.push_back(std::move(kind[i]));
  return out;
}

/// One step; returns false if no improving move is found.
bool IteratedSearch::descend() {
  const auto tried = shuffled(now_.draft);
  const std::size_t most = kicks_ > 0 ? std::min(tried.size(), kPatience) : tried.size();
  for (std::size_t begin = 0; begin < most && spent_ < goal_; begin += kSideBySide)
    if (take_best(tried, begin, std::min(begin + kSideBySide, most))) return true;
  return false;
}

bool IteratedSearch::take_best(const std::vector<Move>& tried, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  std::vector<std::optional<PlanDraft>> drafts(count);
  std::vector<std::string> keys(count);
  core::parallel_for(count, [&](std::size_t i) {
    stop_.check();
    PlanDraft draft = now_.draft;
    tried[begin + i](draft);
    if (!space_->tidy(draft)) return;
    auto fitted = space_->runnable(std::move(draft), &now_.draft.plan);
    if (!fitted) return;
    keys[i] = space_->key(*fitted);
    drafts[i] = std::move(fitted);
  });
  // Skips known plans, in order, so that the result does not depend on the number of threads.
  for (std::size_t i = 0; i < count; ++i)
    if (drafts[i] && !met_.insert(keys[i]).second) drafts[i].reset();
  std::vector<std::optional<PlanScore>> bounds(count);
  core::parallel_for(count, [&](std::size_t i) {
    stop_.check();
    if (drafts[i]) drafts[i] = space_->completed(std::move(*drafts[i]));
    if (drafts[i]) bounds[i] = judge_->at_best(drafts[i]->plan);
  });
  const auto best = first_least(bounds, now_.worth, [&](std::size_t i, const PlanScore& least, bool ties) {
    stop_.check();
    return judge_->worth(drafts[i]->plan, ties ? judge_->just_above(least) : least);
  });
  for (const auto& draft : drafts)
    if (draft) spend(draft->plan);
  if (!best.index) return false;
  arrive(std::move(*drafts[*best.index]), best.value);
  return true;
}

std::size_t IteratedSearch::counted() const {
  return spent_ / kParts;
}

void IteratedSearch::spend(const plan::Plan& plan) {
  std::int64_t passes = 0;
  for (const plan::Stage& stage : plan.stages)
    passes += plan.training.mini_batch / stage.micro_batch * std::max(kLargeGroup, stage.replica_size());
  passes /= kLargeGroup;
  ++judged_;
  const std::size_t devices = std::min(space_->problem().cluster.size(), kManyDevices);
  spent_ += std::max<std::size_t>(1, devices * kParts / kManyDevices) +
            static_cast<std::size_t>(passes * static_cast<std::int64_t>(kParts) / kManyPasses);
}

void IteratedSearch::arrive(PlanDraft draft, const PlanScore& worth) {
  now_ = {std::move(draft), worth};
  if (!(worth < best_.worth)) return;
  best_ = now_;
  kicks_ = 0;
}

void IteratedSearch::kick() {
  ++kicks_;
  std::optional<PlanDraft> draft;
  for (int tries = 0; tries < kTries && !draft; ++tries) draft = kicked();
  if (!draft) return;
  met_.insert(space_->key(*draft));
  spend(draft->plan);
  const PlanScore worth = judge_->worth(draft->plan);
  arrive(std::move(*draft), worth);
}

/// Applies some moves, with kinds equally likely, one after the other; nothing if they make no new plan. Only
/// the last draft must fit: two changes together may save memory where one exceeds it.
std::optional<PlanDraft> IteratedSearch::kicked() {
  PlanDraft draft = best_.draft;
  for (int left = random_.between(2, kMostKicks); left > 0; --left) {
    stop_.check();
    auto kinds = moves(MoveContext(*space_, draft), change_);
    std::erase_if(kinds, [](const Moves& kind) { return kind.empty(); });
    if (kinds.empty()) break;
    const Moves& kind =
        kinds[static_cast<std::size_t>(random_.between(0, static_cast<int>(kinds.size()) - 1))];
    PlanDraft next = draft;
    kind[static_cast<std::size_t>(random_.between(0, static_cast<int>(kind.size()) - 1))](next);
    if (space_->tidy(next) && space_->well_formed(next.plan)) draft = std::move(next);
  }
  auto fitted = space_->runnable(std::move(draft), &best_.draft.plan);
  if (!fitted || met_.contains(space_->key(*fitted))) return std::nullopt;
  return space_->completed(std::move(*fitted));
}

}  // namespace penstock::planners
