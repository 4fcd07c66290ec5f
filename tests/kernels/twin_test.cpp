// The CUDA backend's steps and kernels, on the host, against float64.

#include "kernels/twin.hpp"

#include <doctest/doctest.h>

#include "kernels/cases.hpp"
#include "kernels/checks.hpp"

using namespace penstock;
using kernels::Precision;

namespace {

std::vector<graph::Operator> without_convolution(std::vector<graph::Operator> cases) {
  std::erase_if(cases, [](const graph::Operator& op) { return op.kind == graph::OpKind::convolution; });
  return cases;
}

}  // namespace

TEST_CASE("steps and kernels agree with float64 in every number format") {
  const auto twin = test::open_twin();
  for (const graph::Operator& op : without_convolution(test::kernel_cases()))
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16})
      for (const std::int64_t samples : {1, 3}) test::check_kernel(*twin, op, samples, precision);
}

TEST_CASE("sums of several pieces and sweeps agree, too") {
  const auto twin = test::open_twin();
  for (const graph::Operator& op : without_convolution(test::larger_kernel_cases()))
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16})
      test::check_kernel(*twin, op, 2, precision);
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
