#include "penstock/core/stop.hpp"

#include <doctest/doctest.h>

using namespace penstock::core;

TEST_CASE("a token without flag and deadline never stops") {
  CHECK_FALSE(StopToken().requested());
  CHECK_NOTHROW(StopToken().check());
}

TEST_CASE("a flag interrupts, a deadline times out, and the flag goes first") {
  std::atomic<bool> flag{false};
  const StopToken late = StopToken(&flag).within(Seconds(0)), early = StopToken(&flag).within(Seconds(1e30));
  CHECK(late.timed_out());
  CHECK_THROWS_AS(late.check(), TimedOut);
  CHECK_FALSE(early.requested());
  flag = true;
  CHECK_THROWS_AS(late.check(), InterruptedError);
  CHECK_THROWS_AS(early.check(), InterruptedError);
}

TEST_CASE("full memory is a limit beside the deadline, and the flag goes first") {
  std::atomic<bool> flag{false}, full{false};
  const StopToken token = StopToken(&flag).until_full(full).within(Seconds(1e30));
  CHECK_FALSE(token.requested());
  full = true;
  CHECK(token.limit_hit());
  CHECK_FALSE(token.timed_out());
  CHECK_THROWS_AS(token.check(), MemoryFull);
  CHECK_THROWS_AS(token.give_up(), MemoryFull);
  CHECK_THROWS_AS(StopToken().within(Seconds(0)).give_up(), TimedOut);
  flag = true;
  CHECK_THROWS_AS(token.check(), InterruptedError);
}

TEST_CASE("the earlier of two deadlines counts") {
  CHECK(StopToken().within(Seconds(0)).within(Seconds(60)).timed_out());
  CHECK(StopToken().within(Seconds(60)).within(Seconds(0)).timed_out());
  CHECK_FALSE(StopToken().within(Seconds(60)).within(Seconds(70)).timed_out());
}

TEST_CASE("a user who is content with the best so far is a limit with the exit code of an interrupt") {
  std::atomic<bool> flag{false}, ended{false};
  const StopToken token = StopToken(&flag).until_ended(ended).within(Seconds(0));
  CHECK_FALSE(token.ended());
  CHECK_THROWS_AS(token.check(), TimedOut);
  ended = true;
  CHECK(token.limit_hit());
  CHECK_FALSE(token.interrupted());
  CHECK_THROWS_AS(token.check(), SearchEnded);
  try {
    token.give_up();
  } catch (const LimitHit& limit) {
    CHECK(limit.code() == ExitCode::interrupted);
    CHECK(std::string(limit.what()) == "interrupted, and no plan was found until then");
  }
  CHECK_FALSE(token.without_limits().requested());
  flag = true;
  CHECK(token.without_limits().interrupted());
  CHECK_THROWS_AS(token.check(), InterruptedError);
}
