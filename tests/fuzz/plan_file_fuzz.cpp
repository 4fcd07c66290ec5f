// A plan file of any bytes is read or refused. An accepted one can be written, read again and judged.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "support/tiny.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  //   a -> b -> d
  //   a -> c -> d
  static const graph::OpGraph diamond = support::tiny_graph(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  static const cluster::Cluster three = support::tiny_cluster(3);
  plan::Plan read;
  try {
    read = plan::parse_plan(std::string(reinterpret_cast<const char*>(data), size), "fuzz", diamond);
  } catch (const core::BadInput&) {
    return 0;
  }
  const std::string written = plan::to_yaml(diamond, read);
  const plan::Plan again = plan::parse_plan(written, "fuzz", diamond);  // a refusal here is a violation
  core::require(plan::to_yaml(diamond, again) == written, "a plan reads back to the same text");
  plan::structural_violations(diamond, three, read);
  return 0;
}
