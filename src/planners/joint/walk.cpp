#include "joint/walk.hpp"

#include <algorithm>
#include <utility>

#include "local/first_least.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::planners {
namespace {

constexpr std::size_t kSideBySide = 32;     ///< moves judged side by side
constexpr std::size_t kPatience = 192;      ///< moves without success after which a kicked walk gives up
constexpr int kFruitless = 48;              ///< kicks from the same best plan after which it ends
constexpr int kMostKicks = 4;               ///< moves at once
constexpr std::size_t kManyDevices = 64;    ///< a plan on fewer counts less
constexpr std::size_t kParts = 4;           ///< of a plan: what one on few devices counts as, one of them
constexpr std::int64_t kManyPasses = 1024;  ///< forward, of all stages: a plan of so many counts one more
constexpr std::int64_t kLargeGroup = 8;     ///< devices, of more of which a pass counts as several
constexpr int kTries = 4;  ///< of a kick, until it makes a new plan: few do where memory is tight

template <class List>
void shuffle(List& list, core::Random& random) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[static_cast<std::size_t>(random.between(0, static_cast<int>(i) - 1))]);
}

}  // namespace

Walk::Walk(const PlanSpace& space, const JointJudge& judge, Change change, JudgedDraft start,
           std::uint64_t seed, core::StopToken stop)
    : space_(&space),
      judge_(&judge),
      change_(change),
      random_(seed),
      stop_(stop),
      now_(start),
      best_(std::move(start)) {
  met_.insert(space_->key(best_.draft));
}

void Walk::go_on(std::size_t plans, const std::function<void()>& stepped) {
  goal_ = spent_ + plans * kParts;
  while (spent_ < goal_ && kicks_ < kFruitless) {
    while (spent_ < goal_ && descend()) stepped();
    if (spent_ < goal_) kick();
    stepped();
  }
}

/// Kinds in turn, so that those with few moves have them tried soon.
std::vector<Move> Walk::shuffled(const Draft& draft) {
  auto kinds = moves(Sight(*space_, draft), change_);
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

/// One step; false when there is none, as far as the walk looks.
bool Walk::descend() {
  const auto tried = shuffled(now_.draft);
  const std::size_t most = kicks_ > 0 ? std::min(tried.size(), kPatience) : tried.size();
  for (std::size_t begin = 0; begin < most && spent_ < goal_; begin += kSideBySide)
    if (take_best(tried, begin, std::min(begin + kSideBySide, most))) return true;
  return false;
}

bool Walk::take_best(const std::vector<Move>& tried, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  std::vector<std::optional<Draft>> drafts(count);
  std::vector<std::string> keys(count);
  core::parallel_for(count, [&](std::size_t i) {
    stop_.check();
    Draft draft = now_.draft;
    tried[begin + i](draft);
    if (!space_->tidy(draft)) return;
    keys[i] = space_->key(draft);
    drafts[i] = std::move(draft);
  });
  // What was met before is left out, in order: the same for any number of threads.
  for (std::size_t i = 0; i < count; ++i)
    if (drafts[i] && !met_.insert(keys[i]).second) drafts[i].reset();
  std::vector<std::optional<Worth>> bounds(count);
  core::parallel_for(count, [&](std::size_t i) {
    stop_.check();
    if (drafts[i]) drafts[i] = space_->completed(std::move(*drafts[i]));
    if (drafts[i]) bounds[i] = judge_->at_best(drafts[i]->plan);
  });
  const auto best = first_least(bounds, now_.worth, [&](std::size_t i, const Worth& least, bool ties) {
    stop_.check();
    return judge_->worth(drafts[i]->plan, ties ? judge_->just_above(least) : least);
  });
  for (const auto& draft : drafts)
    if (draft) spend(draft->plan);
  if (!best.index) return false;
  arrive(std::move(*drafts[*best.index]), best.value);
  return true;
}

std::size_t Walk::counted() const {
  return spent_ / kParts;
}

void Walk::spend(const plan::Plan& plan) {
  std::int64_t passes = 0;
  for (const plan::Stage& stage : plan.stages)
    passes += plan.training.mini_batch / stage.micro_batch * std::max(kLargeGroup, stage.replica_size());
  passes /= kLargeGroup;
  ++judged_;
  const std::size_t devices = std::min(space_->problem().cluster.size(), kManyDevices);
  spent_ += std::max<std::size_t>(1, devices * kParts / kManyDevices) +
            static_cast<std::size_t>(passes * static_cast<std::int64_t>(kParts) / kManyPasses);
}

void Walk::arrive(Draft draft, const Worth& worth) {
  now_ = {std::move(draft), worth};
  if (!(worth < best_.worth)) return;
  best_ = now_;
  kicks_ = 0;
}

void Walk::kick() {
  ++kicks_;
  std::optional<Draft> draft;
  for (int tries = 0; tries < kTries && !draft; ++tries) draft = kicked();
  if (!draft) return;
  met_.insert(space_->key(*draft));
  spend(draft->plan);
  const Worth worth = judge_->worth(draft->plan);
  arrive(std::move(*draft), worth);
}

/// Some moves, of kinds alike likely, one after the other; nothing where they make no new plan. Only the last
/// draft has to fit: two changes may save memory together where one alone takes more than there is.
std::optional<Draft> Walk::kicked() {
  Draft draft = best_.draft;
  for (int left = random_.between(2, kMostKicks); left > 0; --left) {
    stop_.check();
    auto kinds = moves(Sight(*space_, draft), change_);
    std::erase_if(kinds, [](const Moves& kind) { return kind.empty(); });
    if (kinds.empty()) break;
    const Moves& kind =
        kinds[static_cast<std::size_t>(random_.between(0, static_cast<int>(kinds.size()) - 1))];
    Draft next = draft;
    kind[static_cast<std::size_t>(random_.between(0, static_cast<int>(kind.size()) - 1))](next);
    if (space_->tidy(next) && space_->well_formed(next.plan)) draft = std::move(next);
  }
  if (met_.contains(space_->key(draft))) return std::nullopt;
  return space_->completed(std::move(draft));
}

}  // namespace penstock::planners
