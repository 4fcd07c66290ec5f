// Accumulators on a device do what accumulators on the host do.

#include "replay/worker/accumulator.hpp"

#include <doctest/doctest.h>

#include "guest.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/values.hpp"
#include "replay/worker/regions.hpp"

using namespace penstock;
using kernels::Element;
using replay::BufferRegion;

namespace {

constexpr core::Bytes kNumber(4);

std::shared_ptr<kernels::Buffer> buffer(kernels::Backend& backend, const std::vector<double>& values,
                                        Element element = Element::fp32) {
  std::shared_ptr<kernels::Buffer> out = backend.allocate(element, static_cast<std::int64_t>(values.size()));
  write_values(backend, *out, values);
  return out;
}

struct RegionRow {
  replay::test::GuestDevice guest{"guest 0"};
  replay::PieceCopier copier{guest};
  std::shared_ptr<kernels::Buffer> first = buffer(guest, {1, 2, 3}), second = buffer(guest, {4, 5, 6, 7});
  /// The last two of the first buffer, and the second: 2 3 4 5 6 7.
  std::vector<BufferRegion> regions = {{first, kNumber, kNumber * 2}, {second, core::Bytes(0), kNumber * 4}};
};

}  // namespace

TEST_CASE("an accumulator takes the numbers of regions, adds to some of them and gives them back") {
  for (const bool on_device : {false, true}) {
    CAPTURE(on_device);
    RegionRow r;
    const auto values = make_accumulator(r.guest, on_device ? &r.copier : nullptr, r.regions);
    REQUIRE(values->size() == 6);
    const auto room = values->room(2);
    values->take(r.regions);
    copy(values->piece(4, 2), room->piece(0, 2));  // 6 7
    values->add(1, *room, 2);                      // 2 9 11 5 6 7
    values->add(0, *room, 0);
    values->give(r.regions);
    CHECK(read_values(r.guest, *r.first) == std::vector<double>{1, 2, 9});
    CHECK(read_values(r.guest, *r.second) == std::vector<double>{11, 5, 6, 7});
    CHECK(r.guest.additions == on_device);
  }
}

TEST_CASE("on a device nothing goes by way of the host, unless numbers are rounded") {
  RegionRow r;
  const auto wide = make_accumulator(r.guest, &r.copier, r.regions);
  r.guest.reads = 0;
  wide->take(r.regions);
  wide->give(r.regions);
  CHECK(r.guest.reads == 0);
  const auto narrow = buffer(r.guest, {1, 2}, Element::bf16);
  const std::vector<BufferRegion> halves = {{narrow, core::Bytes(0), core::Bytes(4)}};
  const auto rounded = make_accumulator(r.guest, &r.copier, halves);
  CHECK(rounded->size() == 2);
  CHECK(rounded->piece(0, 1)[0].size == 4);
  CHECK(rounded->piece(0, 1)[0].copier == nullptr);
}

TEST_CASE("an accumulator of another length is not taken") {
  RegionRow r;
  const auto values = make_accumulator(r.guest, &r.copier, r.regions);
  r.regions.pop_back();
  CHECK_THROWS_AS(values->take(r.regions), core::Error);
}

TEST_CASE("pieces of a device are copied by its copier, those of the host are not mixed with them") {
  RegionRow r;
  const auto target = buffer(r.guest, {0, 0, 0});
  const std::vector<BufferRegion> from = {{r.first, kNumber, kNumber * 2}},
                                  to = {{target, core::Bytes(0), kNumber * 2}};
  copy(pieces(from, &r.copier), pieces(to, &r.copier));
  CHECK(read_values(r.guest, *target) == std::vector<double>{2, 3, 0});
  CHECK(r.guest.copies == 1);
  copy(pieces(to, &r.copier), pieces(to, &r.copier));  // the same memory
  CHECK(r.guest.copies == 1);
  CHECK_THROWS_AS(copy(pieces(from), pieces(to, &r.copier)), core::Error);
}
