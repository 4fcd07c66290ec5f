// Both ends of channels, by a library that moves few bytes at a time.

#include "replay/links/channels.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "distant_library.hpp"
#include "guest.hpp"

using namespace penstock;
using core::DeviceId;
using replay::DeviceChannels;
using replay::MemoryPiece;
using replay::Pieces;

namespace {

const DeviceChannels::Way kThere{DeviceId(3), DeviceId(1)}, kBack{DeviceId(1), DeviceId(3)};

using Bytes = std::shared_ptr<std::vector<std::byte>>;
Bytes bytes(std::size_t count, int first = 0) {
  auto out = std::make_shared<std::vector<std::byte>>(count);
  for (std::size_t i = 0; i < count; ++i) (*out)[i] = static_cast<std::byte>(first + static_cast<int>(i) % 7);
  return out;
}

struct ChannelEnds {
  ChannelEnds() {
    for (const DeviceChannels::Way& way : {kThere, kBack}) {
      const auto invitation = replay::test::invite_distant();
      const bool there = way == kThere;
      here.add(way, there ? 0 : 1, guest, join(invitation, there ? 0 : 1));
      far.add(way, there ? 1 : 0, guest, join(invitation, there ? 1 : 0));
    }
  }
  std::unique_ptr<kernels::Collectives> join(const kernels::Invitation& invitation, std::size_t rank) {
    std::vector<kernels::Backend*> ranks(2);
    ranks[rank] = &guest;
    return replay::test::join_distant(ranks, invitation);
  }
  Pieces pieces(const std::vector<Bytes>& all) {
    Pieces out;
    for (const Bytes& one : all) out.push_back({one, one->data(), one->size(), &copier});
    return out;
  }
  replay::test::GuestDevice guest{"guest"};
  replay::PieceCopier copier{guest};
  DeviceChannels here, far;
};

}  // namespace

TEST_CASE("pieces arrive whole and in order, however few bytes move at a time") {
  ChannelEnds ends;
  std::vector<int> landed;
  std::vector<Bytes> to;
  const std::vector<std::size_t> sizes = {250, 2, 100, 200};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    to.push_back(bytes(sizes[i]));
    ends.here.put(kThere, ends.pieces({bytes(sizes[i], 50), bytes(0), bytes(sizes[i], 60)}), [] {});
  }
  std::vector<Bytes> second;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    second.push_back(bytes(sizes[i]));
    ends.far.put(kThere, ends.pieces({to[i], bytes(0), second[i]}),
                 [&landed, i] { landed.push_back(static_cast<int>(i)); });
  }
  for (int turn = 0; turn < 100 && landed.size() < sizes.size(); ++turn) ends.here.land(), ends.far.land();
  CHECK(landed == std::vector<int>{0, 1, 2, 3});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(*to[i] == *bytes(sizes[i], 50));
    CHECK(*second[i] == *bytes(sizes[i], 60));
  }
  CHECK_FALSE(ends.here.land());
  CHECK_FALSE(ends.far.land());
}

TEST_CASE("transfers in one direction do not wait for those in the other") {
  ChannelEnds ends;
  bool back = false;
  const Bytes to = bytes(4);
  ends.here.put(kThere, ends.pieces({bytes(4)}), [] {});  // it is never received
  ends.far.put(kBack, ends.pieces({bytes(4, 9)}), [] {});
  ends.here.put(kBack, ends.pieces({to}), [&] { back = true; });
  for (int turn = 0; turn < 10; ++turn) ends.here.land(), ends.far.land();
  CHECK(back);
  CHECK(*to == *bytes(4, 9));
}
