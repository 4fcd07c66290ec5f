// Members of a tensor-parallel group of which each process has some.

#include "replay/groups/process_group.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"

using namespace penstock;
using core::Seconds;
using replay::Blob;
using replay::ProcessGroup;
using Shared = replay::GroupPeers::Shared;

namespace {

std::span<const std::byte> bytes_of(const std::vector<int>& numbers) {
  return std::as_bytes(std::span(numbers));
}
std::vector<int> numbers_of(std::span<const std::byte> bytes) {
  const auto* begin = reinterpret_cast<const int*>(bytes.data());
  return {begin, begin + bytes.size() / sizeof(int)};
}

void arrive(ProcessGroup& group, Blob note) {
  Shared shared;
  const replay::SharedNote whose = replay::read_shared(note, shared);
  group.arrive(whose.member, whose.round, std::move(shared), std::move(note));
}
void arrive(ProcessGroup& group, std::size_t member, std::uint64_t round, const std::vector<int>& numbers) {
  arrive(group, replay::written({0, member, round}, {bytes_of(numbers)}));
}

/// The values of all members that member 0 receives when it shares {7}.
std::vector<std::vector<int>> share(ProcessGroup& group, Seconds time = {}) {
  const std::vector<int> own = {7};
  std::vector<std::vector<int>> out;
  group.member(0).share({bytes_of(own)}, time, [&](const std::vector<Shared>& all) {
    for (const Shared& shared : all) out.push_back(numbers_of(shared.at(0)));
  });
  return out;
}

std::string internal_error(const Blob& note) {
  Shared shared;
  try {
    replay::read_shared(note, shared);
  } catch (const core::Error& error) {
    return error.code() == core::ExitCode::internal ? error.what() : "another error";
  }
  return "none";
}

}  // namespace

TEST_CASE("a note has the shared values, also buffers of no bytes") {
  core::Random random(5);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::vector<std::byte>> buffers(static_cast<std::size_t>(random.between(0, 4)));
    Shared given, read;
    for (auto& buffer : buffers) {
      buffer.resize(static_cast<std::size_t>(random.between(0, 20)));
      for (std::byte& each : buffer) each = static_cast<std::byte>(random.between(0, 255));
      given.emplace_back(buffer);
    }
    const Blob note = replay::written({3, 1, 4}, given);
    const replay::SharedNote whose = replay::read_shared(note, read);
    CHECK(whose.group == 3);
    CHECK(whose.member == 1);
    CHECK(whose.round == 4);
    REQUIRE(read.size() == buffers.size());
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      CHECK(std::ranges::equal(read[b], buffers[b]));
      CHECK(reinterpret_cast<std::uintptr_t>(read[b].data()) % 8 == 0);
    }
    for (std::size_t length = 0; length < note.size(); length += 8) {
      const Blob less(note.begin(), note.begin() + static_cast<std::ptrdiff_t>(length));
      CHECK(internal_error(less).find("is as long as it says") != std::string::npos);
    }
  }
}

// Round 1 of a small tensor may overtake round 0 of a large one.
TEST_CASE("bytes of another process may come early, a round too early, or late") {
  replay::Monitor monitor(Seconds(10), {});
  ProcessGroup group(monitor, {.all = 2, .here = 1, .send = [](auto...) {}}, false, "the group");
  arrive(group, 1, 1, {5, 6});
  arrive(group, 1, 0, {4});
  const std::vector<std::vector<int>> first = {{7}, {4}}, second = {{7}, {5, 6}}, third = {{7}, {8}};
  monitor.work([&] {
    CHECK(share(group) == first);
    CHECK(share(group) == second);
    std::jthread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      arrive(group, 1, 2, {8});
    });
    CHECK(share(group) == third);
  });
}

// The other's bytes come after 0.1 s, and the collective takes 0.05 s from then on.
TEST_CASE("a collective begins when the last bytes have come") {
  replay::Monitor monitor(Seconds(10), {});
  ProcessGroup group(monitor, {.all = 2, .here = 1, .send = [](auto...) {}}, true, "the group");
  const Seconds begin = monitor.now();
  std::jthread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    arrive(group, 1, 0, {8});
  });
  monitor.work([&] { share(group, Seconds(0.05)); });
  const Seconds whole = monitor.now() - begin, taken = group.taken(0);
  CHECK(taken >= Seconds(0.05));
  CHECK(taken <= whole - Seconds(0.1));
}

// Members of random processes, each of which runs 40 rounds on a thread of its own and shares as many numbers
// as it likes: all see the same.
TEST_CASE("every member sees what all share, whichever process it is of") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const std::size_t members = static_cast<std::size_t>(random.between(2, 5)), processes = 3;
    std::vector<std::size_t> host(members);
    for (std::size_t& each : host) each = static_cast<std::size_t>(random.between(0, 2));
    const auto value = [&](std::size_t member, int round) {
      return std::vector<int>(1 + (member + static_cast<std::size_t>(round)) % 3,
                              round * 10 + static_cast<int>(member));
    };
    std::vector<std::unique_ptr<replay::Monitor>> monitors;
    std::vector<std::unique_ptr<ProcessGroup>> meetings;
    for (std::size_t p = 0; p < processes; ++p) {
      const auto to_others = [&, p](std::size_t member, std::uint64_t round, const Shared& what) {
        for (std::size_t other = 0; other < processes; ++other)
          if (other != p && std::ranges::count(host, other) > 0)
            arrive(*meetings[other], replay::written({0, member, round}, what));
      };
      const auto here = static_cast<std::size_t>(std::ranges::count(host, p));
      monitors.push_back(std::make_unique<replay::Monitor>(Seconds(10), core::StopToken()));
      meetings.push_back(std::make_unique<ProcessGroup>(
          *monitors[p], ProcessGroup::GroupMembers{members, here, to_others}, false, "the group"));
    }
    std::vector<int> wrong(members);
    const auto run = [&](std::size_t m) {
      for (int round = 0; round < 40; ++round) {
        const std::vector<int> own = value(m, round);
        meetings[host[m]]->member(m).share({bytes_of(own)}, {}, [&](const std::vector<Shared>& all) {
          for (std::size_t i = 0; i < members; ++i) wrong[m] += numbers_of(all[i].at(0)) != value(i, round);
        });
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t m = 0; m < members; ++m)
        threads.emplace_back([&, m] { monitors[host[m]]->work([&] { run(m); }); });
    }
    CHECK(std::reduce(wrong.begin(), wrong.end()) == 0);
  }
}

TEST_CASE("a process that waits for a device of a lost process fails") {
  replay::Monitor monitor(Seconds(10), {});
  ProcessGroup group(monitor, {.all = 2, .here = 1, .send = [](auto...) {}}, false, "the group of device 0");
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    monitor.lose("process 1 is gone");
  });
  CHECK_THROWS_AS(monitor.work([&] { share(group); }), replay::EndSignal);
  CHECK_THROWS_WITH(monitor.rethrow(),
                    "the group of device 0 waits for one of its devices; process 1 is gone");
}
