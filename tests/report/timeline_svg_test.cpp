#include "penstock/report/timeline_svg.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "penstock/core/error.hpp"
#include "support/drawn_trace.hpp"
#include "support/golden.hpp"
#include "support/near.hpp"

using namespace penstock;

namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Sum of the widths of the boxes of one colour in the first lane, in pixels.
double drawn_width(const std::string& svg, const std::string& style) {
  const std::size_t lane = svg.find("class=\"idle\"", svg.find("device 0"));
  const std::size_t path = svg.find(" d=\"", svg.find("<path class=\"" + style + "\"", lane));
  const std::size_t end = svg.find('"', path + 4);
  double sum = 0;
  for (std::size_t h = svg.find('h', path); h < end; h = svg.find('h', h + 1))
    sum += std::strtod(&svg[h + 1], nullptr);
  return sum;
}

}  // namespace

TEST_CASE("the timeline of four stages and eight micro-batches is drawn as accepted") {
  const report::TimelineStyle style{.title = "One forward, one backward: 4 stages, 8 micro-batches"};
  support::check_golden("timeline_4x8.svg", report::to_svg(support::drawn_trace(), style));
}

TEST_CASE("narrow boxes share a range of micro-batches") {
  // 32 stages: the first sends 32 forward passes down before anything comes back.
  const std::string svg = report::to_svg(support::drawn_trace({.stages = 32, .micro_batches = 64}));
  CHECK(contains(svg, ">0-31<"));
  CHECK_FALSE(contains(svg, ">17<"));
}

TEST_CASE("where two digits are wider than a backward pass, every tenth is numbered all the same") {
  // On 1000 pixels, a forward pass of 4 and a backward pass of `width` in turn; two digits take 14.
  const auto drawn = [](std::int64_t width) {
    trace::Trace trace;
    trace.iteration = core::Picoseconds(1000);
    trace.devices.resize(1);
    const core::DeviceId device(0);
    for (std::int32_t m = 0; m < 25; ++m) {
      const core::Picoseconds start((4 + width) * m), middle = start + core::Picoseconds(4);
      const core::Picoseconds end = middle + core::Picoseconds(width);
      trace.spans.push_back({trace::TaskKind::forward, device, {}, core::StageId(0), m, start, middle, {}});
      trace.spans.push_back({trace::TaskKind::backward, device, {}, core::StageId(0), m, middle, end, {}});
    }
    return report::to_svg(trace, {.width = 1230});
  };
  CHECK(contains(drawn(8), ">9<"));
  CHECK(contains(drawn(8), ">10<"));
  CHECK(contains(drawn(8), ">20<"));
  CHECK_FALSE(contains(drawn(8), ">11<"));
  CHECK(contains(drawn(5), ">20<"));  // a third of the digits' width is enough
  CHECK_FALSE(contains(drawn(4), ">20<"));
}

TEST_CASE("spans thinner than a pixel keep their share of the width") {
  // 2000 forward passes of 10 ms and backward passes of 20 ms on about 1000 pixels: half a pixel each and
  // less.
  const trace::Trace trace = support::drawn_trace({.stages = 4, .micro_batches = 2000});
  const std::string svg = report::to_svg(trace, {.width = 1230});
  const double forward = 20.0 / to_seconds(trace.iteration).value() * 1000;
  CHECK(drawn_width(svg, "forward") == support::near(forward, 0.1));
  CHECK(drawn_width(svg, "backward") == support::near(2 * forward, 0.1));
}

TEST_CASE("concurrent transfers are drawn as one mark") {
  // Device 0 sends to 1 in [0, 50) and to 2 in [30, 100) of 100: one mark over all 1000 pixels.
  trace::Trace trace;
  trace.iteration = core::Picoseconds(100);
  trace.devices.resize(3);
  const auto send = [&](std::size_t to, std::int64_t start, std::int64_t end) {
    trace.spans.push_back({trace::TaskKind::transfer, core::DeviceId(0), core::DeviceId(to), core::StageId(0),
                           0, core::Picoseconds(start), core::Picoseconds(end), core::Bytes(1)});
  };
  send(1, 0, 50), send(2, 30, 100);
  CHECK(
      contains(report::to_svg(trace, {.width = 1230}), "d=\"m0 0h999.5\""));  // half a pixel sets boxes apart
}

TEST_CASE("any number of spans on 32 devices makes less than a megabyte" * doctest::test_suite("slow")) {
  for (const int micro_batches : {64, 250, 500, 1000, 5000})
    CHECK(report::to_svg(support::drawn_trace({.stages = 32, .micro_batches = micro_batches})).size() <
          1'000'000);
}

TEST_CASE("a device over its memory is marked") {
  trace::Trace trace = support::drawn_trace();
  CHECK_FALSE(contains(report::to_svg(trace), "class=\"over\""));
  // 4.5 GiB fixed, 4 x 2 GiB of activations and one buffer of 0.25 GiB: 12.8 GiB when rounded.
  trace.devices[0].capacity = core::Bytes(12ll << 30);
  CHECK(contains(report::to_svg(trace), "class=\"over\">12.8 GiB of 12.0 GiB<"));
}

TEST_CASE("the legend explains the mark of a device that runs out of memory, where there is one") {
  trace::Trace trace = support::drawn_trace();
  CHECK_FALSE(contains(report::to_svg(trace), ">out of memory<"));
  trace.devices[0].capacity = core::Bytes(12ll << 30);
  const std::string svg = report::to_svg(trace);
  CHECK(contains(svg, "<title>device 0 runs out of memory"));
  CHECK(contains(svg, ">out of memory<"));
}

TEST_CASE("recomputation is no forward pass, and is in the legend if there is any") {
  trace::Trace trace = support::drawn_trace();
  CHECK_FALSE(contains(report::to_svg(trace), "recomputation"));
  const auto first = std::ranges::find_if(trace.spans, [](const trace::Span& span) {
    return span.kind == trace::TaskKind::backward && span.device == core::DeviceId(0);
  });
  REQUIRE(first != trace.spans.end());
  first->kind = trace::TaskKind::recompute;
  const std::string svg = report::to_svg(trace);
  CHECK(contains(svg, ">recomputation<"));
  CHECK(drawn_width(svg, "recompute") > 1);
}

TEST_CASE("entries of a legend that would not fit are closer") {
  trace::Trace trace = support::drawn_trace();
  constexpr trace::TaskKind kKinds[] = {trace::TaskKind::recompute, trace::TaskKind::input_gradient,
                                        trace::TaskKind::weight_gradient};
  for (std::size_t s = 0; s < trace.spans.size() && s < 3; ++s) trace.spans[s].kind = kKinds[s];
  const auto last = [&](int width) {
    report::TimelineStyle style;
    style.width = width;
    const std::string svg = report::to_svg(trace, style);
    const std::size_t at = svg.find("micro-batch (3-7: several)"), begin = svg.rfind("translate(", at) + 10;
    return std::stod(svg.substr(begin));
  };
  CHECK(last(900) < last(1400));
  CHECK(last(1400) == last(1500));
}

TEST_CASE("names of a device's stages leave the lane free: three have room, of more the ends are shown") {
  trace::Trace trace = support::drawn_trace();
  const auto with = [&](std::size_t stages) {
    trace.devices[0].stages.clear();
    for (std::size_t s = 0; s < stages; ++s) trace.devices[0].stages.emplace_back(4 * s);
    return report::to_svg(trace);
  };
  CHECK(contains(with(3), ">stages 0, 4, 8<"));
  CHECK(contains(with(4), ">stages 0 … 12<"));
}

TEST_CASE("a schedule without a model: halves of a backward apart, time in steps, nothing about memory") {
  // F 0-1, I 1-2, W 2-5 of a unit step each: the boxes share 1000 pixels 1:1:3, less half a pixel each.
  const core::Picoseconds step(1000);
  trace::Trace trace;
  trace.mini_batch = 1;
  trace.iteration = core::Picoseconds(5000);
  trace.devices.resize(1);
  const auto add = [&](trace::TaskKind kind, std::int64_t start, std::int64_t end) {
    trace.spans.push_back({kind,
                           core::DeviceId(0),
                           {},
                           core::StageId(0),
                           0,
                           core::Picoseconds(start * 1000),
                           core::Picoseconds(end * 1000),
                           {}});
  };
  add(trace::TaskKind::forward, 0, 1);
  add(trace::TaskKind::input_gradient, 1, 2);
  add(trace::TaskKind::weight_gradient, 2, 5);
  const std::string svg = report::to_svg(trace, {.width = 1230, .step = step, .items = "micro-batches"});
  CHECK(drawn_width(svg, "forward") == support::near(199.5));
  CHECK(drawn_width(svg, "input_gradient") == support::near(199.5));
  CHECK(drawn_width(svg, "weight_gradient") == support::near(599.5));
  CHECK(contains(svg, ">iteration 5 steps · 0.2 micro-batches/step · bubble 0.0 %<"));
  const report::TimelineStyle own{1280, "", step, "micro-batches", 0.125};
  CHECK(contains(report::to_svg(trace, own), "micro-batches/step · bubble 12.5 % of the longest rank span<"));
  CHECK(contains(svg, ">5 steps<"));
  CHECK(contains(svg, ">weight gradient<"));
  for (const char* absent : {"memory", "all-reduce", "sending", ">backward<", " 0 B"})
    CHECK_FALSE(contains(svg, absent));
}

TEST_CASE("similar devices are drawn once if there are more than 32") {
  const auto copies = [](std::size_t count) {
    trace::Trace trace = support::drawn_trace({.stages = 2, .micro_batches = 3});
    const trace::Trace once = trace;
    for (std::size_t c = 1; c < count; ++c) {
      trace.devices.insert(trace.devices.end(), once.devices.begin(), once.devices.end());
      for (trace::Span span : once.spans) {
        span.device = core::DeviceId(span.device.index() + 2 * c);
        if (span.peer.valid()) span.peer = core::DeviceId(span.peer.index() + 2 * c);
        trace.spans.push_back(span);
      }
    }
    return trace;
  };
  const auto lanes = [](const std::string& svg) {
    std::size_t out = 0;
    for (std::size_t at = svg.find("<g class=\"number\""); at != svg.npos;
         at = svg.find("<g class=\"number\"", at + 1))
      ++out;
    return out;
  };
  const std::string few = report::to_svg(copies(16)), many = report::to_svg(copies(256));
  CHECK(lanes(few) == 32);
  CHECK(lanes(many) == 2);
  CHECK(contains(many, ">0 … 510<"));
  CHECK(contains(many, ">256 alike<"));
  CHECK(contains(few, ">device 31<"));

  trace::Trace other = copies(256);
  other.spans.front().end += other.iteration / std::int64_t{3};
  const std::string three = report::to_svg(other);
  CHECK(lanes(three) == 3);
  CHECK(contains(three, ">device 0<"));
}

TEST_CASE("a title is text, never markup") {
  CHECK(contains(report::to_svg({}, {.title = "a < b & \"c\"\n"}), ">a &lt; b &amp; &quot;c&quot; <"));
}

TEST_CASE("a span on a device the trace does not have is our bug") {
  trace::Trace trace = support::drawn_trace();
  trace.devices.pop_back();
  CHECK_THROWS_AS(report::to_svg(trace), core::Error);
}

TEST_CASE("a title longer than the picture keeps its beginning and its end") {
  // 1,200 pixels less the margin hold about a hundred letters; this one has 150.
  std::string title = "llama";
  for (int i = 0; i < 12; ++i) title += " number" + std::to_string(i) + "=12";
  const std::string svg = report::to_svg({}, {.width = 1200, .title = title + " on 96 devices, megatron"});
  CHECK(contains(svg, ">llama number0=12"));
  CHECK(contains(svg, "… number"));
  CHECK(contains(svg, "on 96 devices, megatron<"));
  CHECK(!contains(svg, "number5=12"));
}
