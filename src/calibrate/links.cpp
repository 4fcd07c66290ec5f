#include "penstock/calibrate/links.hpp"

#include <algorithm>

#include "penstock/calibrate/doubts.hpp"
#include "penstock/calibrate/kernel_timing.hpp"
#include "penstock/calibrate/link_fit.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/values.hpp"

namespace penstock::calibrate {
namespace {

using cost::LinkKind;
using kernels::Buffer;
using kernels::Element;

constexpr std::uint64_t kMessageSeed = 1;

std::int64_t numbers_in(core::Bytes bytes) {
  return std::max<std::int64_t>(1, (bytes.value() + size(Element::fp32) - 1) / size(Element::fp32));
}

/// Two buffers of one rank and the copy from one to the other.
class BufferCopy {
 public:
  BufferCopy(RankBackend& rank, core::Bytes bytes)
      : rank_(rank),
        from_(rank.backend->allocate(Element::fp32, numbers_in(bytes))),
        to_(rank.backend->allocate(Element::fp32, numbers_in(bytes))) {
    write_random(*rank.backend, *from_, kMessageSeed);
    rank.backend->zero(*to_, *rank.stream);
  }
  void operator()() { take(*from_); }
  void take(const Buffer& from) { rank_.backend->copy(*to_, from, *rank_.stream); }
  void finish() {
    (*this)();
    rank_.stream->synchronise();
  }
  void write_source() { rank_.backend->copy(*from_, *to_, *rank_.stream), rank_.stream->synchronise(); }
  const Buffer& source() const { return *from_; }

 private:
  RankBackend& rank_;
  std::unique_ptr<Buffer> from_, to_;
};

cost::LinkPoint copy_within(const LinkBench& bench, core::Bytes bytes) {
  BufferCopy copy(bench.ranks[0], bytes);
  return {bytes, bench.stopwatch().back_to_back([&] { copy(); })};
}

cost::LinkPoint copy_with_host(const LinkBench& bench, LinkKind kind, core::Bytes bytes) {
  kernels::Backend& backend = *bench.ranks[0].backend;
  const auto buffer = backend.allocate(Element::fp32, numbers_in(bytes));
  write_random(backend, *buffer, kMessageSeed);
  std::vector<std::byte> host(static_cast<std::size_t>(buffer->bytes().value()));
  backend.read(*buffer, host);
  const Body body = kind == LinkKind::host_to_device ? Body([&] { backend.write(*buffer, host); })
                                                     : Body([&] { backend.read(*buffer, host); });
  return {bytes, bench.stopwatch().unbundled(body)};
}

/// The sender writes on its own thread, so that the bytes lie in its caches.
cost::LinkPoint copy_between(const LinkBench& bench, core::Bytes bytes) {
  ThreadTeam team(2);
  BufferCopy receiver(bench.ranks[0], bytes), sender(bench.ranks[1], bytes);
  const Body send = [&] {
    team.run([&](int rank) {
      if (rank == 1) sender.write_source();
    });
  };
  return {bytes, bench.stopwatch().after(send, [&] { receiver.take(sender.source()); })};
}

/// Collectives of the devices' library, over buffers like a ring's.
class LibraryRun {
 public:
  LibraryRun(const LinkBench& bench, core::Bytes bytes)
      : ranks_(bench.ranks), library_(*bench.library), team_(static_cast<int>(bench.ranks.size())) {
    const std::int64_t count = std::ssize(ranks_), part = (numbers_in(bytes) + count - 1) / count;
    for (RankBackend& rank : ranks_) {
      write_random(*rank.backend, *wholes_.emplace_back(rank.backend->allocate(Element::fp32, part * count)),
                   kMessageSeed);
      write_random(*rank.backend, *parts_.emplace_back(rank.backend->allocate(Element::fp32, part)),
                   kMessageSeed);
    }
  }
  void operator()(LinkKind kind) {
    team_.run([&](int r) {
      const auto rank = static_cast<std::size_t>(r);
      put(kind, rank, *ranks_[rank].stream);
      ranks_[rank].stream->synchronise();
    });
  }

 private:
  void put(LinkKind kind, std::size_t rank, kernels::Stream& stream) {
    if (kind == LinkKind::all_reduce) return library_.all_reduce(rank, *wholes_[rank], stream);
    if (kind == LinkKind::reduce_scatter)
      return library_.reduce_scatter(rank, *wholes_[rank], *parts_[rank], stream);
    library_.all_gather(rank, *parts_[rank], *wholes_[rank], stream);
  }

  std::vector<RankBackend>& ranks_;
  kernels::Collectives& library_;
  ThreadTeam team_;
  std::vector<std::unique_ptr<Buffer>> wholes_, parts_;  ///< [rank]
};

cost::LinkPoint collective(const LinkBench& bench, LinkKind kind, core::Bytes bytes) {
  if (bench.library != nullptr) {
    LibraryRun run(bench, bytes);
    return {bytes, bench.stopwatch().unbundled([&] { run(kind); })};
  }
  ThreadTeam team(static_cast<int>(bench.ranks.size()));
  ReductionRing ring(team, bench.ranks, bytes);
  const Body body = kind == LinkKind::all_reduce       ? Body([&] { ring.all_reduce(); })
                    : kind == LinkKind::reduce_scatter ? Body([&] { ring.reduce_scatter(); })
                                                       : Body([&] { ring.all_gather(); });
  return {bytes, bench.stopwatch().unbundled(body)};
}

graph::Operator product(std::int64_t n) {
  graph::Operator op;
  op.name = "product";
  op.kind = graph::OpKind::matmul;
  op.attributes = graph::Matmul{.batch = 1, .rows = n, .inner = n, .columns = n};
  return op;
}

auto link_of(auto& calibration, LinkKind kind, int ranks) {
  return std::ranges::find_if(calibration.links, [&](const cost::MeasuredLink& link) {
    return link.kind == kind && link.ranks == ranks;
  });
}

}  // namespace

cost::LinkPoint time_link(const LinkBench& bench, LinkKind kind, core::Bytes bytes) {
  core::require(kind != LinkKind::broadcast, "broadcast is not measured");
  switch (kind) {
    case LinkKind::device_copy:
      return copy_within(bench, bytes);
    case LinkKind::host_to_device:
    case LinkKind::device_to_host:
      return copy_with_host(bench, kind, bytes);
    case LinkKind::peer_copy:
      return copy_between(bench, bytes);
    default:
      return collective(bench, kind, bytes);
  }
}

cost::SharingTest time_sharing(const LinkBench& bench, core::Bytes bytes) {
  ThreadTeam team(2);
  BufferCopy first(bench.ranks[0], bytes), second(bench.ranks[1], bytes);
  Stopwatch stopwatch = bench.stopwatch();
  const auto copies = [&](int flows) {
    return Body([&, flows] {
      team.run([&](int rank) {
        if (rank < flows) (rank == 0 ? first : second).finish();
      });
    });
  };
  const cost::TimingSummary alone = stopwatch.unbundled(copies(1));
  return {LinkKind::device_copy, bytes, alone, stopwatch.unbundled(copies(2))};
}

cost::OverlapTest time_overlap(const LinkBench& bench, std::int64_t extent, core::Bytes bytes,
                               cluster::Precision precision) {
  RankBackend &computing = bench.ranks[0], &copying = bench.ranks[1];
  TimedKernel kernel(*computing.backend, *computing.stream, product(extent), 1, precision);
  BufferCopy copy(copying, bytes);
  const Body compute = [&] { kernel.run(graph::Pass::forward); };
  const Body compute_whole = [&] { compute(), computing.stream->synchronise(); };
  Stopwatch of_compute = bench.stopwatch(), of_copy(*copying.stream, bench.clock, bench.rule, bench.stop);
  cost::OverlapTest out;
  out.compute_alone = of_compute.unbundled(compute);
  out.copy_alone = of_copy.unbundled([&] { copy(); });
  {
    const BackgroundLoop copies([&] { copy.finish(); });
    out.compute_with = of_compute.unbundled(compute);
  }
  const BackgroundLoop computes(compute_whole);
  out.copy_with = of_copy.unbundled([&] { copy(); });
  return out;
}

void add_point(cost::Calibration& calibration, LinkKind kind, int ranks, const cost::LinkPoint& point) {
  auto link = link_of(calibration, kind, ranks);
  if (link == calibration.links.end())
    link = calibration.links.insert(calibration.links.end(), cost::MeasuredLink{kind, ranks, {}, {}});
  auto& points = link->points;
  const auto place = std::ranges::lower_bound(points, point.bytes, {}, &cost::LinkPoint::bytes);
  if (place == points.end() || place->bytes != point.bytes)
    points.insert(place, point);
  else if (noise(point) < noise(*place))
    *place = point;
  link->segments = fit_link(points, kMessageSeed);
}

bool has_point(const cost::Calibration& calibration, LinkKind kind, int ranks, core::Bytes bytes) {
  const auto link = link_of(calibration, kind, ranks);
  return link != calibration.links.end() &&
         std::ranges::any_of(link->points,
                             [&](const cost::LinkPoint& point) { return point.bytes == bytes; });
}

}  // namespace penstock::calibrate
