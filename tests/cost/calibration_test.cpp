#include "penstock/cost/calibration.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "penstock/core/error.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using namespace penstock::cost;

namespace {

std::string fault_of(const std::string& text) {
  try {
    parse_calibration(text, "c.yaml");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

const std::string& whole() {
  static const std::string text = to_yaml(support::full_calibration());
  return text;
}

/// The whole file with `from` exchanged for `to`, sealed again.
std::string with(const std::string& from, const std::string& to) {
  std::string body = whole().substr(0, whole().rfind("end: "));
  const auto at = body.find(from);
  REQUIRE(at != std::string::npos);
  return sealed(body.replace(at, from.size(), to));
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an older file has no crowding and no launches in graphs, and is written without") {
  Calibration older = support::full_calibration();
  older.crowding.clear();
  older.graph_launch.reset();
  const Calibration read = parse_calibration(to_yaml(older), "c.yaml");
  CHECK(read.crowding.empty());
  CHECK(!read.graph_launch);
  CHECK(!mentions(to_yaml(older), "crowding"));
  CHECK(!mentions(to_yaml(older), "graph_launch"));
}

TEST_CASE("impossible crowding is refused at its place") {
  CHECK(mentions(fault_of(with("[1.1, 1.08, 1.12]", "[1.1, 0, 1.12]")), "factors above 0"));
  CHECK(mentions(fault_of(with("[1.1, 1.08, 1.12]", "[1.1, 1.2, 1.3]")), "not in its interval"));
  CHECK(mentions(fault_of(with("memory_share: 0.04", "memory_share: 1.5")), "from 0 to 1"));
}

TEST_CASE("a written calibration is read back, and written the same again") {
  const Calibration read = parse_calibration(whole(), "c.yaml");
  CHECK(to_yaml(read) == whole());
  REQUIRE(read.kernels.size() == 1);
  const MeasuredKernel& kernel = read.kernels[0];
  CHECK(kernel.key == support::full_calibration().kernels[0].key);
  CHECK(kernel.work.moved.value() == 96);
  REQUIRE(kernel.points.size() == 3);
  CHECK(kernel.points[0].algorithm == "tile \"64\"\n");
  CHECK(kernel.points[1].samples == 2);
  CHECK(kernel.points[1].back_to_back.median.value() == support::near(1.5e-5, 1e-12));
  CHECK(kernel.points[1].cold.high.value() == support::near(3.03e-5, 1e-12));
  CHECK(kernel.points[2].pass == graph::Pass::weight_gradient);
  CHECK(read.links[0].segments[0].latency.low == -1e-8);
  CHECK(read.models[0].parameters.at("branches") == "2");
  REQUIRE(read.crowding.size() == 1);
  CHECK(read.crowding[0].slowdown.value == 1.1);
  CHECK(read.crowding[0].beside == "addition");
  CHECK(read.graph_launch == core::Seconds(1.5e-6));
  CHECK(read.identity.details[0] == std::pair<std::string, std::string>("driver", "1.2"));
}

TEST_CASE("times that five digits cannot hold are written the same again") {
  Calibration odd = support::full_calibration();
  odd.kernels[0].points[1].cold = support::timing(1.0 / 3);
  odd.kernels[0].points[2].cold = support::timing(1e-11 / 7);
  const std::string once = to_yaml(odd);
  CHECK(to_yaml(parse_calibration(once, "c.yaml")) == once);
}

TEST_CASE("a calibration that measured nothing is one") {
  const std::string text = to_yaml(support::bare_calibration());
  CHECK(to_yaml(parse_calibration(text, "c.yaml")) == text);
}

TEST_CASE("foreign files and newer versions have different errors") {
  CHECK(fault_of("penstock_profile: 1\n") ==
        "c.yaml:1: not a calibration: expected 'penstock_calibration: 1' as first line");
  CHECK(mentions(fault_of(""), "not a calibration"));
  CHECK(mentions(fault_of("{not even yaml"), "not a calibration"));
  CHECK(fault_of("penstock_calibration: 2\nwhatever") ==
        "c.yaml:1: penstock_calibration: version 2 is newer than this penstock, which reads version 1");
  CHECK(mentions(fault_of("penstock_calibration: one\n"), "expected version 1, found ' one'"));
  CHECK(mentions(fault_of("penstock_calibration:"), "expected version 1, found ''"));
}

TEST_CASE("a calibration cut off anywhere is refused as truncated") {
  for (std::size_t length = 24; length < whole().size(); ++length) {
    const std::string fault = fault_of(whole().substr(0, length));
    CAPTURE(length);
    CHECK(mentions(fault, "truncated"));
  }
}

TEST_CASE("any changed digit fails the check sum") {
  for (std::size_t at = 24; at < whole().size(); ++at) {
    std::string text = whole();
    if (text[at] < '0' || text[at] > '8') continue;
    ++text[at];
    CAPTURE(at);
    CHECK(mentions(fault_of(text), "damaged or was edited"));
  }
}

TEST_CASE("contradictions are refused with their place") {
  CHECK(fault_of(with("threads: 1", "threads: 0")) ==
        "c.yaml:7: identity.threads: expected a whole number from 1 to 1048576, found '0'");
  CHECK(mentions(fault_of(with("threads: 1", "treads: 1")), "did you mean 'threads'?"));
  CHECK(mentions(fault_of(with("kind: linear", "kind: liner")), "liner"));
  CHECK(mentions(fault_of(with("[20us, 19.6us", "[20us, 20.6us")),
                 "kernels[0].forward.1.cold: the median is not between p10 and p90"));
  CHECK(mentions(fault_of(with("10, 19.8us", "10, 20.8us")), "the median is not in its interval"));
  CHECK(mentions(fault_of(with("10, 19.8us", "0, 19.8us")), "expected a whole number from 1 to"));
  CHECK(mentions(fault_of(with("[20us, 19.6us", "[20, 19.6us")), "expected a time with its unit"));
  CHECK(mentions(fault_of(with("    2: {cold", "    1: {cold")), "the key appears twice"));
  CHECK(mentions(fault_of(with("    2: {cold", "    0: {cold")), "expected a batch size as key, found '0'"));
  CHECK(mentions(fault_of(with("    1: {cold", "    3: {cold")), "batch sizes do not ascend"));
  CHECK(mentions(fault_of(with("{fp32: 1e+12FLOP/s}", "{fp33: 1e+12FLOP/s}")),
                 "ceilings.matmul.fp33: unknown number format"));
  CHECK(mentions(fault_of(with("{fp32: 1e+12FLOP/s}", "{}")), "expected at least one rate"));
  CHECK(mentions(fault_of(with("copy: 1e+11B/s", "copy: 0B/s")), "expected at least 1B/s"));
  CHECK(mentions(fault_of(with("median: 0.021", "median: 0.21")), "the median is above p90"));
  CHECK(mentions(fault_of(with("[[30us, 15us], [29us, 16us]]", "[[30us, 15us], [29us]]")),
                 "kernels[0].forward.2.visits[1]: expected [cold, back to back]"));
  CHECK(mentions(fault_of(with("[[30us, 15us], [29us, 16us]]", "[[30us, 15us]]")), "expected two visits"));
  CHECK(mentions(fault_of(with("[29us, 16us]", "[29us, 0us]")), "expected medians of at least 1ps"));
  CHECK(mentions(fault_of(with("    4096B:", "    512B:")), "sizes do not ascend"));
  Calibration twice = support::full_calibration();
  twice.kernels.push_back(twice.kernels[0]);
  CHECK(mentions(fault_of(to_yaml(twice)), "kernels[1]: the kernel appears twice"));
}

TEST_CASE("work is that of the analytic model, in elements of the number's size") {
  // 10 + 6 numbers of 4 B read and written per sample, 60 weights.
  graph::GraphBuilder builder("m");
  graph::Operator x, y;
  x.name = "x";
  x.kind = graph::OpKind::input;
  x.output_bytes = core::Bytes(40);
  y.name = "y";
  y.kind = graph::OpKind::linear;
  y.attributes = graph::attributes_of(y.kind, {{"in", 10}, {"out", 6}});
  y.output_bytes = core::Bytes(24);
  y.parameters = 60;
  y.forward_flops = y.weight_gradient_flops = core::Flops(120);
  builder.add_edge(builder.add(x), builder.add(y));
  const auto g = builder.build();
  const core::OpId op(1);
  CHECK(work_of(g, op, cluster::Precision::fp32).moved.value() == 64);
  CHECK(work_of(g, op, cluster::Precision::tf32).weights.value() == 240);
  CHECK(work_of(g, op, cluster::Precision::bf16).moved.value() == 32);
  CHECK(work_of(g, op, cluster::Precision::bf16).flops[2].value() == 120);
  CHECK_FALSE(has_pass(g.op(core::OpId(0)), graph::Pass::forward));
  CHECK(has_pass(g.op(op), graph::Pass::weight_gradient));
  CHECK_FALSE(has_pass(g.op(op), graph::Pass::input_gradient));  // what it reads wants no gradient
}

TEST_CASE("the keys of committed calibrations are those of the operators they name") {
  // The program that measured them wrote extents in this order: an operator read from a key has this key
  // again.
  int machines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(support::checkout("/results/hardware"))) {
    const std::string file = entry.path().string();
    CAPTURE(file);
    ++machines;
    for (const auto& kernel : load_calibration(file).kernels) {
      graph::Operator op;
      op.kind = kernel.key.kind;
      op.attributes = graph::attributes_of(op.kind, kernel.key.shape);
      CHECK(key_of(op, kernel.key.precision) == kernel.key);
    }
  }
  CHECK(machines >= 3);
}
