#include "meeting.hpp"

namespace penstock::replay {

class Meeting::Member : public Peers {
 public:
  Member(Meeting& meeting, std::size_t number) : meeting_(meeting), number_(number) {}
  void share(const Shared& own, core::Seconds time,
             const std::function<void(const std::vector<Shared>&)>& use) override {
    meeting_.share(number_, own, time, use);
  }

 private:
  Meeting& meeting_;
  const std::size_t number_;
};

Meeting::Meeting(Monitor& monitor, std::size_t members, bool throttle, std::string name)
    : monitor_(monitor), throttle_(throttle), name_(std::move(name)), shared_(members), taken_(members) {
  for (std::size_t m = 0; m < members; ++m) members_.push_back(std::make_unique<Member>(*this, m));
}

void Meeting::await(const int& reached, int round) {
  monitor_.wait_at_work([&] { return reached >= round; },
                        [&] { return name_ + " waits for one of its devices"; });
}

/// Nobody comes to the next round before all have parted from this one.
void Meeting::share(std::size_t member, const Peers::Shared& own, core::Seconds time,
                    const std::function<void(const std::vector<Peers::Shared>&)>& use) {
  int round = 0;
  monitor_.change([&] {
    round = met_ + 1;
    shared_[member] = own;
    if (++came_ < members_.size()) return;
    came_ = 0;
    began_ = monitor_.now();
    over_ = began_ + time;
    ++met_;
  });
  await(met_, round);
  use(shared_);
  const core::Seconds began = began_;
  if (throttle_) monitor_.sleep_until(over_);
  monitor_.change([&] {
    if (++used_ < members_.size()) return;
    used_ = 0;
    ++parted_;
  });
  await(parted_, round);
  taken_[member] += monitor_.now() - began;
}

}  // namespace penstock::replay
