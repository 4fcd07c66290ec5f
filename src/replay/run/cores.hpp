#pragma once
// Cores of the machine on which threads run.

#include <sched.h>

#include <vector>

namespace penstock::replay {

/// Cores that this process may use.
std::vector<int> allowed_cores();

/// Pins the calling thread to that core. Continues without pinning if that is refused.
void pin(int core);

/// Keeps the calling thread, and threads that it starts, on the present core: devices that take turns then
/// find their data in the caches.
class OnOneCore {
 public:
  OnOneCore();
  ~OnOneCore();
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace penstock::replay
