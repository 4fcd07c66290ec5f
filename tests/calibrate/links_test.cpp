// Transfers on the host, two timings each: that they run, not how long they take.

#include "penstock/calibrate/links.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "replay/guest.hpp"
#include "scripted.hpp"

using namespace penstock;
using cost::LinkKind;

namespace {

struct LinksBench {
  std::vector<calibrate::RankBackend> ranks =
      calibrate::open_ranks(2, [] { return kernels::open_device("host", 1); });
  scripted::Clock clock;
  calibrate::LinkBench bench{ranks, clock, {.least = 2, .enough = core::Seconds(0), .noise = 1}, {}};
};

bool timed(const cost::TimingSummary& t) {
  return t.count >= 2 && t.median.value() > 0 && t.low <= t.high;
}

}  // namespace

TEST_CASE("every kind of link but broadcast is timed") {
  LinksBench b;
  for (const LinkKind kind :
       {LinkKind::device_copy, LinkKind::host_to_device, LinkKind::device_to_host, LinkKind::peer_copy,
        LinkKind::all_reduce, LinkKind::all_gather, LinkKind::reduce_scatter}) {
    CAPTURE(name(kind));
    const cost::LinkPoint point = time_link(b.bench, kind, core::Bytes(4096));
    CHECK(point.bytes == core::Bytes(4096));
    CHECK(timed(point.time));
  }
  CHECK_THROWS_AS(time_link(b.bench, LinkKind::broadcast, core::Bytes(4096)), core::Error);
}

TEST_CASE("where the devices have a library, it does the collectives") {
  std::vector<calibrate::RankBackend> ranks =
      calibrate::open_ranks(3, [] { return std::make_unique<replay::test::GuestDevice>("guest"); });
  auto& first = dynamic_cast<replay::test::GuestDevice&>(*ranks[0].backend);
  replay::test::GuestLibrary library({&first, ranks[1].backend.get(), ranks[2].backend.get()});
  scripted::Clock clock;
  const calibrate::LinkBench bench{
      ranks, clock, {.least = 2, .enough = core::Seconds(0), .noise = 1}, {}, &library};
  for (const LinkKind kind : {LinkKind::reduce_scatter, LinkKind::all_gather}) {
    CHECK(timed(time_link(bench, kind, core::Bytes(1000)).time));
    CHECK(first.sums == 0);
  }
  CHECK(timed(time_link(bench, LinkKind::all_reduce, core::Bytes(1000)).time));
  CHECK(first.sums >= 2);
}

TEST_CASE("copies are timed singly and together, and beside a product") {
  LinksBench b;
  const cost::SharingTest sharing = time_sharing(b.bench, core::Bytes(1 << 16));
  CHECK(timed(sharing.alone));
  CHECK(timed(sharing.together));
  const cost::OverlapTest overlap = time_overlap(b.bench, 16, core::Bytes(1 << 16), cluster::Precision::fp32);
  for (const cost::TimingSummary& t :
       {overlap.compute_alone, overlap.compute_with, overlap.copy_alone, overlap.copy_with})
    CHECK(timed(t));
}

TEST_CASE("Ctrl-C ends a transfer's timing") {
  const std::atomic<bool> stopped = true;
  LinksBench b;
  b.bench.stop = core::StopToken(&stopped);
  CHECK_THROWS_AS(time_link(b.bench, LinkKind::all_reduce, core::Bytes(1024)), core::InterruptedError);
}
