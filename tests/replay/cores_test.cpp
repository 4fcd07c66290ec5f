// Cores that a replay's threads stay on.

#include "run/cores.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace penstock::replay;

TEST_CASE("a thread and those that it starts stay on one core, and are free again") {
  std::jthread([] {  // an affinity of its own
    const auto before = allowed_cores();
    {
      const OnOneCore stays;
      CHECK(allowed_cores().size() == 1);
      std::vector<int> of_child;
      std::jthread([&] { of_child = allowed_cores(); }).join();
      CHECK(of_child == allowed_cores());
    }
    CHECK(allowed_cores() == before);
  })
      .join();
}

TEST_CASE("a pinned thread has its core for itself") {
  std::jthread([] {
    const int last = allowed_cores().back();
    pin(last);
    CHECK(allowed_cores() == std::vector{last});
  }).join();
}
