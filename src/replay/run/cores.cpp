#include "run/cores.hpp"

namespace penstock::replay {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) out.push_back(core);
  return out;
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

OnOneCore::OnOneCore() {
  CPU_ZERO(&before_);
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  if (const int core = sched_getcpu(); core >= 0) pin(core);
}

OnOneCore::~OnOneCore() {
  if (CPU_COUNT(&before_) > 0) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace penstock::replay
