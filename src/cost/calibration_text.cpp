// The file form of a calibration, written.
#include <fmt/format.h>

#include "penstock/core/digest.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::cost {
namespace {

using core::quoted;

std::string text(core::Seconds t) {
  return fmt::format("{:.5g}us", t.value() * 1e6);
}
std::string text(core::Bytes bytes) {
  return fmt::format("{}B", bytes.value());
}

std::string text(const TimingSummary& t) {
  return fmt::format("[{}, {}, {}, {}, {}, {}]", text(t.median), text(t.p10), text(t.p90), t.count,
                     text(t.low), text(t.high));
}

std::string text(const FittedValue& f) {
  return fmt::format("[{:.5g}, {:.5g}, {:.5g}]", f.value, f.low, f.high);
}

std::string text(const Shape& shape) {
  std::string out;
  for (const auto& [extent, value] : shape)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", quoted(extent), value);
  return "{" + out + "}";
}

template <class Pairs>
std::string quoted_map(const Pairs& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", quoted(key), quoted(value));
  return "{" + out + "}";
}

std::string text(const MeasurementIdentity& id) {
  return fmt::format(
      "identity:\n  device: {}\n  backend: {}\n  memory: {}\n  threads: {}\n  load: {:.5g}\n  date: {}\n"
      "  commit: {}\n  command: {}\n  details: {}\n",
      quoted(id.device), quoted(id.backend), text(id.memory), id.threads, id.load, quoted(id.date),
      quoted(id.commit), quoted(id.command), quoted_map(id.details));
}

std::string text(const DeviceCeilings& ceilings) {
  std::string rates;
  for (std::size_t i = 0; i < cluster::kPrecisions; ++i)
    if (const double rate = ceilings.matmul[i].value(); rate > 0)
      rates += fmt::format("{}{}: {:.5g}FLOP/s", rates.empty() ? "" : ", ",
                           name(static_cast<cluster::Precision>(i)), rate);
  std::string streams = fmt::format("copy: {:.5g}B/s", ceilings.copy.value());
  if (const double rate = ceilings.add.value(); rate > 0) streams += fmt::format(", add: {:.5g}B/s", rate);
  if (const double rate = ceilings.update.value(); rate > 0)
    streams += fmt::format(", update: {:.5g}B/s", rate);
  return fmt::format("ceilings: {{{}, matmul: {{{}}}}}\n", streams, rates);
}

std::string text(const std::vector<TimingRound>& visits) {
  std::string out;
  for (const TimingRound& visit : visits)
    out += fmt::format("{}[{}, {}]", out.empty() ? "" : ", ", text(visit.cold), text(visit.back_to_back));
  return out.empty() ? "" : ", visits: [" + out + "]";
}

std::string text(const MeasuredKernel& kernel) {
  const KernelWork& work = kernel.work;
  std::string out = fmt::format(
      "- kind: {}\n  number: {}\n  shape: {}\n  work: {{flops: [{}, {}, {}], moved: {}, weights: {}}}\n",
      name(kernel.key.kind), name(kernel.key.precision), text(kernel.key.shape), work.flops[0].value(),
      work.flops[1].value(), work.flops[2].value(), text(work.moved), text(work.weights));
  const KernelPoint* before = nullptr;
  for (const KernelPoint& point : kernel.points) {
    if (!before || before->pass != point.pass) out += fmt::format("  {}:\n", name(point.pass));
    const std::string algorithm =
        point.algorithm.empty() ? "" : fmt::format("algorithm: {}, ", quoted(point.algorithm));
    out += fmt::format("    {}: {{cold: {}, back_to_back: {}, {}workspace: {}{}}}\n", point.samples,
                       text(point.cold), text(point.back_to_back), algorithm, text(point.workspace),
                       text(point.visits));
    before = &point;
  }
  return out;
}

std::string text(const MeasuredLink& link) {
  std::string out = fmt::format("- kind: {}\n  ranks: {}\n  points:{}\n", name(link.kind), link.ranks,
                                link.points.empty() ? " {}" : "");
  for (const LinkPoint& point : link.points)
    out += fmt::format("    {}: {}\n", text(point.bytes), text(point.time));
  out += fmt::format("  segments:{}\n", link.segments.empty() ? " []" : "");
  for (const LinkSegment& s : link.segments)
    out += fmt::format("  - {{from: {}, to: {}, seconds: {}, seconds_per_byte: {}}}\n", text(s.from),
                       text(s.to), text(s.latency), text(s.per_byte));
  return out;
}

std::string text(const SharingTest& test) {
  return fmt::format("- {{kind: {}, bytes: {}, alone: {}, together: {}}}\n", name(test.kind),
                     text(test.bytes), text(test.alone), text(test.together));
}

std::string text(const OverlapTest& test) {
  return fmt::format("- {{compute_alone: {}, compute_with: {}, copy_alone: {}, copy_with: {}}}\n",
                     text(test.compute_alone), text(test.compute_with), text(test.copy_alone),
                     text(test.copy_with));
}

std::string text(const CrowdingTest& test) {
  return fmt::format(
      "- {{kernel: {}, memory_share: {:.5g}, beside: {}, neighbours: {}, slowdown: {}, alone: {}, crowded: "
      "{}}}\n",
      quoted(test.kernel), test.memory_share, quoted(test.beside), test.neighbours, text(test.slowdown),
      text(test.alone), text(test.crowded));
}

std::string text(const ModelSum& sum) {
  return fmt::format(
      "- {{model: {}, parameters: {}, samples: {}, number: {}, whole: {}, cold_sum: {}, back_to_back_sum: "
      "{}}}\n",
      quoted(sum.model), quoted_map(sum.parameters), sum.samples, name(sum.precision), text(sum.whole),
      text(sum.cold_sum), text(sum.back_to_back_sum));
}

std::string text(const LeaveOneOutRow& row) {
  return fmt::format("- {{kind: {}, fold: {}, count: {}, median: {:.5g}, p90: {:.5g}}}\n", name(row.kind),
                     name(row.fold), row.count, row.median, row.p90);
}

template <class Item>
std::string list(std::string_view key, const std::vector<Item>& items) {
  std::string out = fmt::format("{}:{}\n", key, items.empty() ? " []" : "");
  for (const Item& item : items) out += text(item);
  return out;
}

/// Tests that older programs did not measure, left out where there is none.
std::string later_tests(const Calibration& c) {
  return (c.crowding.empty() ? "" : list("crowding", c.crowding)) +
         (c.graph_launch ? "graph_launch: " + text(*c.graph_launch) + "\n" : "");
}

}  // namespace

std::string to_yaml(const Calibration& c) {
  return sealed(
      "penstock_calibration: 1\n"
      "# Timings: [median, p10, p90, count, low, high], the last two a 95 % interval of the median; of "
      "several visits' medians.\n" +
      text(c.identity) + "launch_overhead: " + text(c.launch_overhead) + "\n" + text(c.ceilings) +
      list("kernels", c.kernels) + list("links", c.links) + list("sharing", c.sharing) +
      list("overlap", c.overlap) + list("models", c.models) + list("leave_one_out", c.leave_one_out) +
      later_tests(c));
}

std::string sealed(std::string body) {
  body += "end: " + core::checksum(body) + "\n";
  return body;
}

}  // namespace penstock::cost
