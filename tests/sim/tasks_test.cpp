#include "sim/tasks/tasks.hpp"

#include <doctest/doctest.h>

#include "penstock/core/random.hpp"

using namespace penstock;
using sim::Task;

namespace {

bool same(const Task& a, const Task& b) {
  return a.duration == b.duration && a.bytes == b.bytes && a.next == b.next && a.place == b.place &&
         a.micro_batch == b.micro_batch && a.kind == b.kind && a.stage == b.stage;
}

/// `variety` values of every field.
Task random_task(core::Random& random, int variety) {
  const auto any = [&] { return random.between(0, variety - 1); };
  return {any(),
          any(),
          any() - 1,
          any() - 1,
          any() - 1,
          static_cast<trace::TaskKind>(any() % 8),
          core::StageId(static_cast<std::size_t>(any()))};
}

void check_equal(const sim::TaskStore& tasks, const std::vector<Task>& plain) {
  REQUIRE(tasks.size() == plain.size());
  for (std::size_t t = 0; t < plain.size(); ++t) {
    CAPTURE(t);
    REQUIRE(same(tasks[t], plain[t]));
  }
}

}  // namespace

TEST_CASE("tasks that share their work are those that were added") {
  // A plain list is the oracle: few kinds of work, then nearly as many as tasks.
  for (const int variety : {1, 2, 5, 1000000}) {
    CAPTURE(variety);
    core::Random random(static_cast<std::uint64_t>(variety));
    sim::TaskStore tasks;
    std::vector<Task> plain;
    for (int step = 0; step < 5000; ++step) {
      plain.push_back(random_task(random, variety));
      tasks.push_back(plain.back());
    }
    check_equal(tasks, plain);
    for (int step = 0; step < 5000; ++step) {
      const auto t = static_cast<std::size_t>(random.between(0, 4999));
      plain[t].duration = random_task(random, variety).duration + step % 3;
      tasks.set_duration(t, plain[t].duration);
    }
    check_equal(tasks, plain);
  }
}
