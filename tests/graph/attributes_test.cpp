#include "penstock/graph/attributes.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/graph/graph_file.hpp"
#include "support/random_attributes.hpp"

using namespace penstock;
using graph::Attributes;
using graph::attributes_of;
using graph::OpKind;
using graph::Shape;
using graph::shape_of;

namespace {

std::int64_t value_of(const Shape& shape, const std::string& name) {
  const auto found = std::ranges::find(shape, name, &Shape::value_type::first);
  return found == shape.end() ? 0 : found->second;
}

}  // namespace

TEST_CASE("a mask that hides distant tokens has a distance, and no other has") {
  using graph::Shape;
  const auto read = [](const Shape& shape) {
    return std::get<graph::Attention>(graph::attributes_of(graph::OpKind::attention, shape));
  };
  const Shape window = {{"queries", 8}, {"keys", 8}, {"window", 1}, {"reach", 4}};
  CHECK(read(window).mask == graph::AttentionMask::window);
  CHECK(read(window).reach == 4);
  CHECK(graph::shape_of(read(window)) == window);
  CHECK(read({{"queries", 8}, {"causal", 1}}).mask == graph::AttentionMask::causal);
  for (const Shape& wrong : {Shape{{"blocks", 1}}, Shape{{"causal", 1}, {"reach", 4}}, Shape{{"reach", 4}},
                             Shape{{"causal", 1}, {"top_k", 1}, {"reach", 4}}})
    CHECK_THROWS_AS(read(wrong), graph::ExtentFault);
}

TEST_CASE("attributes equal the extents, in the order of files, without zeros") {
  // The old form, where every extent is found by its name, is the twin.
  core::Random random(19);
  for (int run = 0; run < 3000; ++run) {
    const auto kind = static_cast<OpKind>(random.between(0, 16));
    const Shape said = test::random_shape(random, kind);
    const Shape written = shape_of(attributes_of(kind, said));
    for (const auto& [name, value] : said) CHECK(value_of(written, name) == value);
    for (const auto& [name, value] : written) CHECK(value_of(said, name) == value);
    const auto window = [](const auto& one) { return one.first.find('_') != std::string::npos; };
    CHECK(std::ranges::none_of(written, [&](const auto& one) { return one.second == 0 && !window(one); }));
    std::vector<std::string> order;
    for (const auto& [name, value] : written)
      if (std::ranges::count(test::extents(kind).counts, name) > 0) order.push_back(name);
    CHECK(std::ranges::is_sorted(order, {}, [&](const std::string& name) {
      return std::ranges::find(test::extents(kind).counts, name) - test::extents(kind).counts.begin();
    }));
  }
}

TEST_CASE("a graph that is read, written and read again is equal, with an equal digest") {
  core::Random random(20);
  std::vector<std::uint64_t> digests;
  for (int run = 0; run < 3000; ++run) {
    const auto kind = static_cast<OpKind>(random.between(0, 16));
    const Attributes first = test::random_attributes(random, kind),
                     again = attributes_of(kind, shape_of(first));
    CHECK(shape_of(again) == shape_of(first));
    CHECK(graph::suits(kind, first));
    if (shape_of(first).empty()) continue;
    CHECK(again == first);
    CHECK(digest(again) == digest(first));
    digests.push_back(digest(first));
  }
  std::ranges::sort(digests);
  CHECK(std::ranges::unique(digests).size() < digests.size() / 4);  // inputs of few elements are equal
}

TEST_CASE("a scan's extents fit each other") {
  const auto read = [](const Shape& shape) {
    return std::get<graph::LinearScan>(attributes_of(OpKind::scan, shape));
  };
  const Shape delta = {{"rows", 8},  {"heads", 4},  {"groups", 2}, {"key", 3},
                       {"value", 5}, {"chunk", 64}, {"delta", 1}};
  CHECK(shape_of(read(delta)) == delta);
  CHECK(read(delta).form == graph::ScanForm::delta);
  CHECK(read(delta).key_groups() == 2);
  CHECK(read(delta).chunks() == 1);
  CHECK(read(delta).read_width() == 2 * 2 * 3 + 4 * 5 + 2 * 4);
  CHECK(read(delta).parameters() == 2 * 4);
  const Shape selective = {{"heads", 4}, {"groups", 1},    {"key", 3},
                           {"value", 1}, {"selective", 1}, {"gated", 1}};
  CHECK(read(selective).read_width() == 2 * 3 + 4 + 4 + 4);
  CHECK(read(selective).parameters() == 4 * 3 + 4);
  for (const Shape& wrong :
       {Shape{{"heads", 4}, {"groups", 3}}, Shape{{"heads", 4}, {"value", 2}, {"selective", 1}},
        Shape{{"rows", 8}, {"heads", 4}}, Shape{{"delta", 1}, {"gated", 1}},
        Shape{{"delta", 1}, {"selective", 1}},
        Shape{{"heads", 1'000'000'000'000}, {"value", 1'000'000'000'000}},
        Shape{{"rows", 1'000'000'000'000}, {"heads", 64}, {"value", 64}, {"chunk", 64}}})
    CHECK_THROWS_AS(read(wrong), graph::ExtentFault);
}

TEST_CASE("every model of the zoo is read back as it was written") {
  for (const auto& family : models::catalogue()) {
    const graph::OpGraph graph = models::build(std::string(family.name), {});
    const graph::OpGraph again = graph::parse_graph(to_json(graph), "zoo.json");
    CHECK(to_json(again) == to_json(graph));
    for (std::size_t v = 0; v < graph.size(); ++v) {
      const graph::Operator& op = graph.op(core::OpId(v));
      CHECK(again.op(core::OpId(v)).attributes == op.attributes);
      CHECK(attributes_of(op.kind, shape_of(op.attributes)) == op.attributes);
      CHECK(graph::suits(op.kind, op.attributes));
    }
  }
}

TEST_CASE("files and calibrations of the past keep their order") {
  // Written out: calibrations find an operator by this row.
  const Shape attention = {{"queries", 4},     {"keys", 5}, {"hidden", 12},  {"heads", 6},  {"key_width", 7},
                           {"value_width", 8}, {"bias", 1}, {"kv_heads", 2}, {"rotary", 1}, {"flash", 1}};
  CHECK(shape_of(graph::Attention{.queries = 4,
                                  .keys = 5,
                                  .hidden = 12,
                                  .heads = 6,
                                  .key_width = 7,
                                  .value_width = 8,
                                  .bias = true,
                                  .kv_heads = 2,
                                  .rotary = true,
                                  .core = graph::AttentionCore::flash}) == attention);
  const Shape pool = {{"elements", 8},     {"window", 9},        {"channels", 2},      {"height", 4},
                      {"width", 5},        {"kernel_height", 3}, {"stride_height", 2}, {"padding_height", 0},
                      {"kernel_width", 3}, {"stride_width", 1},  {"padding_width", 1}, {"average", 1}};
  CHECK(shape_of(graph::Pool{8, 9, {2, {4, 5}, {3, 3}, {2, 1}, {0, 1}}, true}) == pool);
  const Shape concat = {{"elements", 12}, {"parts", 2}, {"rows", 3}, {"part0", 1}, {"part1", 3}};
  CHECK(shape_of(graph::Concat{12, 3, {1, 3}}) == concat);
}

TEST_CASE("attributes of another kind do not suit") {
  CHECK(graph::suits(OpKind::reshape, graph::Elements{4}));
  CHECK(graph::suits(OpKind::linear, {}));
  CHECK_FALSE(graph::suits(OpKind::profiled, graph::Elements{4}));
  CHECK_FALSE(graph::suits(OpKind::linear, graph::Norm{4, 2}));
}
