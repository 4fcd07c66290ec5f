#include "groups/process_group.hpp"

namespace penstock::replay {

class ProcessGroup::Member : public GroupPeers {
 public:
  Member(ProcessGroup& group, std::size_t number) : group_(group), number_(number) {}
  void share(const Shared& own, core::Seconds time,
             const std::function<void(const std::vector<Shared>&)>& use) override {
    group_.share(number_, own, time, use);
  }

 private:
  ProcessGroup& group_;
  const std::size_t number_;
};

ProcessGroup::ProcessGroup(Monitor& monitor, GroupMembers members, bool throttle, std::string name)
    : monitor_(monitor),
      members_(std::move(members)),
      throttle_(throttle),
      name_(std::move(name)),
      shares_(members_.all),
      taken_(members_.all) {
  for (std::size_t m = 0; m < members_.all; ++m) peers_.push_back(std::make_unique<Member>(*this, m));
}

void ProcessGroup::await(const std::function<bool()>& ready) {
  monitor_.wait_at_work(ready, [&] { return name_ + " waits for one of its devices"; });
}

ProcessGroup::CollectiveRound& ProcessGroup::come(std::size_t member, std::uint64_t number,
                                                  GroupPeers::Shared what, Blob bytes) {
  CollectiveRound* out = nullptr;
  monitor_.change([&] {
    CollectiveRound& round = rounds_[number];
    round.shared.resize(members_.all);
    round.shared.at(member) = std::move(what);
    if (!bytes.empty()) round.bytes.push_back(std::move(bytes));
    if (++round.came == members_.all) round.began = monitor_.now();
    out = &round;
  });
  return *out;
}

void ProcessGroup::arrive(std::size_t member, std::uint64_t round, GroupPeers::Shared what, Blob bytes) {
  come(member, round, std::move(what), std::move(bytes));
}

/// No member of this process enters the next round before all of them have left this one.
void ProcessGroup::share(std::size_t member, const GroupPeers::Shared& own, core::Seconds time,
                         const std::function<void(const std::vector<GroupPeers::Shared>&)>& use) {
  const std::uint64_t number = shares_[member]++;
  if (members_.send) members_.send(member, number, own);
  CollectiveRound& round = come(member, number, own);
  await([&] { return round.came == members_.all; });
  use(round.shared);
  const core::Seconds began = round.began;
  if (throttle_) monitor_.sleep_until(began + time);
  monitor_.change([&] {
    if (++round.used == members_.here) rounds_.erase(number);
  });
  await([&] { return !rounds_.contains(number); });
  taken_[member] += monitor_.now() - began;
}

}  // namespace penstock::replay
