// Valid shapes, on both sides of each boundary.

#include "kernels/geometry.hpp"

#include <doctest/doctest.h>

#include <map>

#include "kernels/operands.hpp"
#include "penstock/core/error.hpp"

using namespace penstock;
using graph::OpKind;

namespace {

using Extents = std::map<std::string, std::int64_t>;

const Extents kPool = {{"channels", 2},      {"height", 5},         {"width", 4},
                       {"kernel_height", 3}, {"kernel_width", 2},   {"stride_height", 2},
                       {"stride_width", 1},  {"padding_height", 1}, {"padding_width", 0}};

/// The reason why no slots follow, or "".
std::string objection(OpKind kind, Extents extents, const Extents& changes, std::int64_t samples = 1) {
  for (const auto& [name, value] : changes) extents[name] = value;
  graph::Operator op;
  op.name = "op";
  op.kind = kind;
  try {
    op.attributes = graph::attributes_of(kind, {extents.begin(), extents.end()});
    kernels::slots_of(op, samples, kernels::Precision::fp32);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

std::string pool_objection(const Extents& changes) {
  return objection(OpKind::pool, kPool, changes);
}

}  // namespace

TEST_CASE("a window fits its padded image, moves, and never covers only padding") {
  CHECK(pool_objection({}).empty());
  CHECK(pool_objection({{"kernel_height", 7}}).empty());  // 5 + 2 x 1
  CHECK(pool_objection({{"kernel_height", 8}}) ==
        "operator 'op' (pool): shape: kernel_height: 8 is not from 1 to 7");
  CHECK(pool_objection({{"stride_width", 0}}).find("stride_width: is missing") != std::string::npos);
  CHECK(pool_objection({{"padding_width", 1}}).empty());
  CHECK(pool_objection({{"padding_width", 2}}).find("more than half the window") != std::string::npos);
}

TEST_CASE("heads divide the width, channels the elements") {
  const Extents attention = {{"queries", 2}, {"keys", 3},      {"hidden", 12},
                             {"heads", 4},   {"key_width", 5}, {"value_width", 6}};
  CHECK(objection(OpKind::attention, attention, {}).empty());
  CHECK(objection(OpKind::attention, attention, {{"heads", 5}}).find("heads: 5 does not divide 12") !=
        std::string::npos);
  CHECK(objection(OpKind::norm, {{"elements", 12}, {"channels", 3}}, {}).empty());
  CHECK(objection(OpKind::norm, {{"elements", 12}, {"channels", 5}}, {}).find("does not divide") !=
        std::string::npos);
}

TEST_CASE("experts with biases or clamps have costs and no kernels") {
  const Extents few = {{"rows", 2}, {"hidden", 4}, {"inner", 8}, {"experts", 3}, {"chosen", 2}, {"gated", 1}};
  CHECK(objection(OpKind::experts, few, {}) == "");
  CHECK(objection(OpKind::experts, few, {{"bias", 1}}).ends_with("no kernel computes it"));
  CHECK(objection(OpKind::experts, few, {{"clamped", 1}}).ends_with("no kernel computes it"));
}

TEST_CASE("sizes have bounds") {
  const Extents rows = {{"rows", 1}, {"width", 1}};
  CHECK(objection(OpKind::softmax, rows, {}, 1 << 20).empty());
  CHECK_FALSE(objection(OpKind::softmax, rows, {}, (1 << 20) + 1).empty());
  CHECK_FALSE(objection(OpKind::softmax, rows, {}, 0).empty());
  CHECK(objection(OpKind::softmax, rows, {{"rows", 1 << 20}, {"width", 1 << 20}}).empty());  // 2^40 elements
  CHECK(objection(OpKind::softmax, rows, {{"rows", 1 << 20}, {"width", (1 << 20) + 1}}).find("2^40") !=
        std::string::npos);
  CHECK(objection(OpKind::concat, {{"rows", 1}, {"parts", 2}, {"part0", 1}}, {}).find("part1: is missing") !=
        std::string::npos);
  CHECK(objection(OpKind::linear, {{"rows", 1}, {"in", 1}, {"out", 1}, {"bias", 2}}, {})
            .find("bias: 2 is not from 0 to 1") != std::string::npos);
}
