// The CUDA backend's steps and kernels, on the host, against float64.

#include "kernels/twin.hpp"

#include <doctest/doctest.h>

#include "kernels/cases.hpp"
#include "kernels/checks.hpp"

using namespace penstock;
using kernels::Number;

namespace {

std::vector<graph::Operator> cases() {
  std::vector<graph::Operator> some;
  for (const graph::Operator& op : test::kernel_cases())
    if (op.kind != graph::OpKind::convolution) some.push_back(op);
  return some;
}

/// More rows than one piece of a column sum has, and a width beyond one team.
graph::Operator tall_and_wide(graph::OpKind kind, const char* option) {
  graph::Operator op;
  op.name = std::string("tall and wide ") + option;
  op.kind = kind;
  op.shape = {{"elements", 70 * 300}, {"channels", 300}, {"rows", 70}, {"in", 5}, {"out", 300}, {option, 1}};
  return op;
}

graph::Operator sum_of(std::int64_t terms, bool product) {
  graph::Operator op;
  op.name = "many terms";
  op.kind = graph::OpKind::elementwise;
  op.shape = {{"elements", 5}, {"terms", terms}, {"product", product ? 1 : 0}};
  return op;
}

}  // namespace

TEST_CASE("steps and kernels agree with float64 in every number format") {
  const auto twin = test::open_twin();
  for (const graph::Operator& op : cases())
    for (const Number number : {Number::fp32, Number::bf16, Number::fp16})
      for (const std::int64_t samples : {1, 3}) test::check_kernel(*twin, op, samples, number);
}

TEST_CASE("column sums of several pieces, and sums of more terms than one sweep takes") {
  const auto twin = test::open_twin();
  using graph::OpKind;
  for (const graph::Operator& op :
       {tall_and_wide(OpKind::norm, "batch"), tall_and_wide(OpKind::norm, "layer"),
        tall_and_wide(OpKind::linear, "bias"), sum_of(16, false), sum_of(17, false), sum_of(33, false),
        sum_of(16, true), sum_of(17, true)})
    test::check_kernel(*twin, op, 2, Number::fp32);
}

TEST_CASE("tables, shared buffers, misfits and streams keep the contract") {
  const auto twin = test::open_twin();
  test::check_tables_are_added_to(*twin);
  test::check_missing_rows(*twin);
  test::check_misfits(*twin);
  test::check_shared_buffers(*twin);
  test::check_stream(*twin);
}

TEST_CASE("optimizers step by their rules") {
  test::check_updates(*test::open_twin());
}
