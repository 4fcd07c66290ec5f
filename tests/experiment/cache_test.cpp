#include "experiment/cache.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "penstock/core/files.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using experiment::CacheEntry;
using experiment::CellCache;
namespace fs = std::filesystem;

namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef";

CacheEntry small_entry() {
  CacheEntry entry;
  entry.row.model = "mmt";
  entry.row.iteration_s = 0.1;
  entry.row.search_s = 1.0 / 3;
  entry.row.status = "ok";
  entry.plan = "a: 1\n";
  entry.trace = std::string("\0\n\xff", 3);
  entry.timeline = "";
  return entry;
}

bool same(const CacheEntry& a, const CacheEntry& b) {
  return report::to_record(a.row) == report::to_record(b.row) && a.plan == b.plan && a.trace == b.trace &&
         a.timeline == b.timeline;
}

void store(const CellCache& cache, const CacheEntry& entry) {
  auto claim = cache.claim(kKey);
  REQUIRE(claim);
  cache.store(std::move(*claim), entry);
}

}  // namespace

TEST_CASE("an entry comes back as it was, binary parts and every digit") {
  const auto back = experiment::decode(experiment::encode(small_entry(), kKey), kKey);
  REQUIRE(back);
  CHECK(same(*back, small_entry()));
  CHECK(*back->row.search_s == 1.0 / 3);
  CHECK_FALSE(back->row.gap);
}

TEST_CASE("a truncated or changed entry, or one of another key, is never used") {
  const std::string whole = experiment::encode(small_entry(), kKey);
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(experiment::decode(whole.substr(0, size), kKey));
  std::mt19937_64 random(7);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + random() % 255));
    CHECK_FALSE(experiment::decode(damaged, kKey));
  }
  CHECK_FALSE(experiment::decode(whole, "1123456789abcdef0123456789abcdef"));
  CHECK_FALSE(experiment::decode(whole + "\n", kKey));
}

TEST_CASE("a cell is claimed by one at a time, and no more once it is done") {
  const support::ScratchFolder scratch("cache_test");
  const CellCache one(scratch.path("c")), other(scratch.path("c"));
  {
    const auto claim = one.claim(kKey);
    REQUIRE(claim);
    CHECK_FALSE(other.claim(kKey));
    CHECK(other.claim("ffffffffffffffffffffffffffffffff"));
  }
  store(other, small_entry());
  CHECK_FALSE(one.claim(kKey));
  REQUIRE(one.find(kKey));
  CHECK(same(*one.find(kKey), small_entry()));
  CHECK_FALSE(fs::exists(scratch.path("c/" + kKey + ".part")));
}

TEST_CASE("claims that came to nothing are counted, half written entries too") {
  const support::ScratchFolder scratch("cache_test");
  const CellCache cache(scratch.path("c"));
  CHECK(cache.attempts(kKey) == 0);
  for (std::size_t attempt = 1; attempt <= 3; ++attempt) {
    CHECK(cache.claim(kKey));
    CHECK(cache.attempts(kKey) == attempt);
  }
  core::write_file(scratch.path("c/" + kKey + ".part"), std::string(5000, 'x'));
  CHECK(cache.attempts(kKey) == 100);
  store(cache, small_entry());
  CHECK(cache.attempts(kKey) == 0);
}

TEST_CASE("a damaged entry is made again") {
  const support::ScratchFolder scratch("cache_test");
  const CellCache cache(scratch.path("c"));
  store(cache, small_entry());
  const std::string path = scratch.path("c/" + kKey + ".cell");
  fs::resize_file(path, fs::file_size(path) - 1);
  CHECK_FALSE(cache.find(kKey));
  store(cache, small_entry());
  CHECK(cache.find(kKey));
}

TEST_CASE("search times are stored under the cell's name") {
  const support::ScratchFolder scratch("cache_test");
  const CellCache cache(scratch.path("c"));
  CHECK_FALSE(cache.seconds("mmt-summit-4-spp-64"));
  cache.remember("mmt-summit-4-spp-64", 1.5);
  CHECK(*cache.seconds("mmt-summit-4-spp-64") == 1.5);
  core::write_file(scratch.path("c/seconds/mmt-summit-4-spp-64"), "soon");
  CHECK_FALSE(cache.seconds("mmt-summit-4-spp-64"));
}
