#include "penstock/graph/weight_tensors.hpp"

#include <doctest/doctest.h>

#include <map>

#include "models/catalogue.hpp"

using namespace penstock;
using graph::TensorRole;

namespace {

std::map<TensorRole, std::int64_t> numbers(const graph::OpGraph& graph) {
  std::map<TensorRole, std::int64_t> out;
  for (std::size_t id = 0; id < graph.size(); ++id)
    for (const graph::WeightTensor& tensor : graph::weight_tensors(graph, core::OpId(id)))
      out[tensor.role] += tensor.numbers();
  return out;
}

}  // namespace

TEST_CASE("every parameter of the zoo is in a tensor") {
  for (const models::ModelInfo& family : models::catalogue()) {
    const auto graph = models::build(family.name, {});
    std::int64_t all = 0;
    for (const auto& [role, count] : numbers(graph)) all += count;
    CHECK_MESSAGE(all == graph.parameters(), family.name);
  }
}

TEST_CASE("matrices of Llama 3 8B are its layers'; its table and its head are apart") {
  auto of = numbers(models::build("llama", {{"size", "llama3-8b"}}));
  const std::int64_t hidden = 4096, inner = 14336, shared = 1024, layers = 32, words = 128256;
  CHECK(of[TensorRole::matrix] == layers * (2 * hidden * hidden + 2 * hidden * shared + 3 * hidden * inner));
  CHECK(of[TensorRole::table] == words * hidden);
  CHECK(of[TensorRole::head] == words * hidden);
  CHECK(of[TensorRole::other] == (2 * layers + 1) * hidden);
}

TEST_CASE("a mixture has two matrices per expert, and the router is one") {
  auto of = numbers(models::build("mixtral", {}));
  const std::int64_t hidden = 4096, inner = 14336, shared = 1024, layers = 32, experts = 8;
  CHECK(of[TensorRole::matrix] ==
        layers * (2 * hidden * hidden + 2 * hidden * shared + experts * (3 * hidden * inner + hidden)));
}
