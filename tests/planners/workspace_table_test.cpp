#include "planners/graphpipe/workspace_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/cost/analytic.hpp"
#include "support/random_graph.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using planners::PositionRange;
using planners::StageSet;

namespace {

graph::OpGraph random_graph(core::Random& random) {
  const auto dag = test::random_dag(random, random.between(1, 14), 0.25);
  graph::GraphBuilder builder("random");
  for (std::size_t v = 0; v < dag.size(); ++v) {
    auto op = support::unit_op("op" + std::to_string(v), 1e9, random.between(0, 999));
    op.output_bytes = core::Bytes(random.between(1, 999));
    builder.add(op);
  }
  for (const auto& [from, to] : dag.edges())
    builder.add_edge(OpId(static_cast<std::size_t>(from)), OpId(static_cast<std::size_t>(to)));
  return builder.build();
}

/// One or two operators at each position, in their own order or any.
std::vector<std::vector<OpId>> positions(core::Random& random, std::size_t operators, bool in_order) {
  std::vector<std::vector<OpId>> out;
  for (std::size_t v = 0; v < operators; ++v)
    if (v > 0 && random.chance(0.3))
      out.back().emplace_back(v);
    else
      out.push_back({OpId(v)});
  for (std::size_t i = out.size(); !in_order && i > 1; --i)
    std::swap(out[i - 1], out[static_cast<std::size_t>(random.between(0, static_cast<int>(i) - 1))]);
  return out;
}

}  // namespace

TEST_CASE("random arrangements: a set's workspace is its stage's, at the first query and later") {
  const auto cluster = support::tiny_cluster(1);
  const cost::AnalyticCosts costs;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto g = random_graph(random);
    const cost::Problem problem{g, cluster, costs, {4}};
    const auto at = positions(random, g.size(), seed % 2 == 0);
    const planners::WorkspaceTable table(problem, at);
    const int last = static_cast<int>(at.size());
    const auto check = [&](const StageSet& set) {
      std::vector<OpId> operators;
      for (const PositionRange& range : set)
        for (int p = range.begin; p < range.end; ++p)
          operators.insert(operators.end(), at[static_cast<std::size_t>(p)].begin(),
                           at[static_cast<std::size_t>(p)].end());
      const auto expected = cost::stage_load(problem, operators).workspace;
      CHECK(table.of(set) == expected);
      CHECK(table.of(set) == expected);
    };
    for (int begin = 0; begin < last; ++begin)
      for (int end = begin + 1; end <= last; ++end) {
        check({{begin, end}});
        if (end + 1 < last) check({{begin, end}, {end + 1, last}});
      }
  }
}
