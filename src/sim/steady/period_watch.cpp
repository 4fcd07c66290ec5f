#include "steady/period_watch.hpp"

namespace penstock::sim {

PeriodWatch::PeriodWatch(const std::vector<RepeatedSection>& sections, std::size_t tasks)
    : sections_(sections),
      section_(tasks),
      last_(sections.size(), -1),
      mark_(sections.front().step > 0 ? sections.front().from : -1) {
  for (std::size_t s = 0; s < sections.size(); ++s) {
    open_.push_back(sections[s].first);
    std::fill(section_.begin() + sections[s].first, section_.begin() + sections[s].end,
              static_cast<std::int32_t>(s));
  }
}

bool PeriodWatch::add_tasks(RelativeState& state, std::span<const std::int32_t> waiting) {
  for (std::size_t s = 0; s < sections_.size(); ++s) {
    const RepeatedSection& section = sections_[s];
    if (last_[s] >= section.until) {
      mark_ = -1;  // later states cannot be compared either
      return false;
    }
    if (section.step == 0) continue;
    TaskId& open = open_[s];
    while (open < section.end && waiting[static_cast<std::size_t>(open)] == kEndedTask) ++open;
    if (open < section.from) return false;
    state.add(state.task(open));
    state.add(state.task(last_[s]));
    for (TaskId t = open; t <= last_[s]; ++t) state.add(waiting[static_cast<std::size_t>(t)]);
  }
  return true;
}

void PeriodWatch::next(std::vector<std::int64_t> state, std::int64_t now) {
  due_ = false;
  if (mark_ >= 0) mark_ += sections_.front().step;
  if (!state.empty()) {
    if (state == saved_) {
      found_ = {period_ - saved_period_, now - saved_time_};
      mark_ = -1;
    } else if (saved_.empty() || period_ - saved_period_ >= window_) {
      if (!saved_.empty()) window_ *= 2;
      saved_ = std::move(state), saved_period_ = period_, saved_time_ = now;
    }
  }
  ++period_;
}

}  // namespace penstock::sim
