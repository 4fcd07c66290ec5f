#pragma once
// Which of the machine's cores threads run on.

#include <sched.h>

#include <vector>

namespace penstock::replay {

/// Those that this process may use.
std::vector<int> allowed_cores();

/// The calling thread runs on that core from now on. Where that is refused it runs all the same.
void pin(int core);

/// The calling thread, and those that it starts, stay on the core that it is on: devices that take turns find
/// their caches as they left them.
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
