// The memory of a device: what is in use for what, and what happens when it is full.

#include "replay/worker/pool.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"

using namespace penstock;
using core::Bytes;
using kernels::Element;
using plan::MemoryKind;
using replay::BufferPool;
using replay::Lease;

namespace {

struct SmallPool {
  std::unique_ptr<kernels::Backend> host = kernels::open_device("host", 1);
  std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>(*host, Bytes(1000), "device 3");
  Lease numbers(std::int64_t count, MemoryKind kind = MemoryKind::activations) {
    return pool->acquire(Element::fp32, count, kind, "a test");
  }
  std::int64_t now(MemoryKind kind) const { return at(pool->memory().now, kind).value(); }
  std::int64_t peak(MemoryKind kind) const { return at(pool->memory().at_peak, kind).value(); }
};

}  // namespace

// 100 numbers of 4 bytes, then 50 more: 600 bytes at most; the first go, 25 come: 300 bytes.
TEST_CASE("bytes are counted by kind, and kept from the moment of the largest sum") {
  SmallPool s;
  Lease first = s.numbers(100);
  const Lease second = s.numbers(50, MemoryKind::workspace);
  first.reset();
  const Lease third = s.numbers(25, MemoryKind::workspace);
  CHECK(s.now(MemoryKind::activations) == 0);
  CHECK(s.now(MemoryKind::workspace) == 300);
  CHECK(s.peak(MemoryKind::activations) == 400);
  CHECK(s.peak(MemoryKind::workspace) == 200);
}

TEST_CASE("received bytes become activations without a new peak") {
  SmallPool s;
  const Lease tensor = s.numbers(100, MemoryKind::buffers);
  s.pool->move(tensor, MemoryKind::activations);
  CHECK(s.now(MemoryKind::buffers) == 0);
  CHECK(s.now(MemoryKind::activations) == 400);
  CHECK(s.peak(MemoryKind::buffers) == 400);
}

TEST_CASE("a buffer that was given back is used again, by another thread once work has settled") {
  SmallPool s;
  const auto take = [&](bool settled) {
    return s.pool->acquire(Element::fp32, 10, MemoryKind::buffers, "a test", settled);
  };
  const kernels::Buffer* first = take(false).get();
  CHECK(take(false).get() == first);
  const Lease other = take(true);  // the first may still be in use by work under way
  CHECK(other.get() != first);
  s.pool->settle();
  CHECK(take(true).get() == first);
}

TEST_CASE("a lent buffer counts while it is held, scratch at its moment") {
  SmallPool s;
  const Lease input = s.host->allocate(Element::fp32, 100);
  Lease lent = s.pool->lend(input, MemoryKind::activations, "an input");
  CHECK(s.now(MemoryKind::activations) == 400);
  s.pool->touch(Bytes(100), MemoryKind::workspace, "a kernel");
  lent.reset();
  CHECK(s.now(MemoryKind::activations) == 0);
  CHECK(s.now(MemoryKind::workspace) == 0);
  CHECK(s.peak(MemoryKind::workspace) == 100);
}

TEST_CASE("a full device names the allocation: 1000 bytes fit, 1004 do not") {
  SmallPool s;
  const Lease all = s.numbers(250);
  CHECK_THROWS_WITH_AS(s.numbers(1),
                       "out of memory on device 3: a test wants 4.00 B, and 1000 B of 1000 B are in use",
                       core::Error);
  try {
    s.numbers(1);
  } catch (const core::Error& error) {
    CHECK(error.code() == core::ExitCode::device_failed);
  }
}

TEST_CASE("leases outlive the one who let them") {
  SmallPool s;
  const Lease lease = s.numbers(10);
  s.pool.reset();
  CHECK(lease->count() == 10);
}
