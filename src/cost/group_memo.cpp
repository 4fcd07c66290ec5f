#include "group_memo.hpp"

#include "penstock/cost/stage_memo.hpp"
#include "stage_forms.hpp"

namespace penstock::cost {
namespace {

using Groups = std::span<const std::vector<core::DeviceId>>;

/// `more`: what else the answer depends on.
template <class Time>
auto timed_once(const Problem& problem, const char* question, Groups groups,
                std::initializer_list<std::int64_t> more, const Time& time) {
  StageForms* forms = StageMemo::forms(problem);
  if (forms == nullptr) return time();
  StageKey key(question);
  for (const std::int64_t value : more) key.add(value);
  std::vector<core::DeviceId> all;
  for (const auto& group : groups) {
    key.add(static_cast<std::int64_t>(group.size()));
    all.insert(all.end(), group.begin(), group.end());
  }
  key.add(forms->devices(all).number);
  return *StageMemo::recall(problem, key, time);
}

}  // namespace

AllReduce all_reduce(const Problem& problem, Groups groups) {
  return timed_once(problem, "all-reduce", groups, {}, [&] { return all_reduce(problem.cluster, groups); });
}

AllReduce all_gather(const Problem& problem, Groups groups) {
  return timed_once(problem, "all-gather", groups, {}, [&] { return all_gather(problem.cluster, groups); });
}

GroupTimes group_times(const Problem& problem, const GroupTimes::Groups& groups, CollectiveKinds kinds) {
  return timed_once(problem, "groups", groups, {kinds.all_reduce, kinds.all_gather, kinds.all_to_all},
                    [&] { return GroupTimes(problem.cluster, groups, kinds); });
}

}  // namespace penstock::cost
