#include "penstock/report/pareto.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace penstock::report;
using Points = std::vector<std::vector<double>>;
using Positions = std::vector<std::size_t>;

TEST_CASE("the front keeps what no other beats, the first of equals, in the order given") {
  //  a is beaten by c in both; b and c trade; d equals b; e is beaten only by c, in one number.
  const Points points = {{4, 4}, {1, 5}, {3, 2}, {1, 5}, {3, 3}};
  CHECK(pareto_front(points) == Positions{1, 2});
  CHECK(pareto_front(Points{}).empty());
  CHECK(pareto_front(Points{{7, 7}}) == Positions{0});
  // A point that is best in every number is the only one.
  CHECK(pareto_front(Points{{2, 2, 2}, {1, 1, 1}, {1, 1, 2}}) == Positions{1});
}

TEST_CASE("no random point on the front is beaten, and every other one is beaten by one on the front") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Points points(30, std::vector<double>(3));
    for (auto& point : points)
      for (double& number : point) number = static_cast<double>(random() % 8);
    const Positions front = pareto_front(points);
    const auto beats = [&](std::size_t a, std::size_t b) {
      bool smaller = false;
      for (std::size_t i = 0; i < 3; ++i) {
        if (points[a][i] > points[b][i]) return false;
        smaller = smaller || points[a][i] < points[b][i];
      }
      return smaller || a < b;
    };
    for (std::size_t p = 0; p < points.size(); ++p) {
      const bool on = std::find(front.begin(), front.end(), p) != front.end();
      const bool beaten =
          std::any_of(front.begin(), front.end(), [&](std::size_t f) { return f != p && beats(f, p); });
      CHECK(on != beaten);
    }
  }
}

TEST_CASE("the picture has time up, memory along, a colour for each number of devices") {
  std::array<ParetoPoint, 3> points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].row.devices = i < 2 ? 8 : 4;
    points[i].row.iteration_s = i == 0 ? 1.0 : i == 1 ? 10.0 : 100.0;
    points[i].row.peak_memory_bytes = std::int64_t{i == 2 ? 1 : 10} << 30;
    points[i].front = i != 1;
    points[i].label = std::to_string(i + 1);
  }
  const std::string svg = pareto_svg(points, "a <problem>");
  const auto has = [&](const char* part) { return svg.find(part) != std::string::npos; };
  // Two decades of seconds on 400 pixels, from 460 up; one of GiB on 560 pixels, from 90 on.
  CHECK(has("<circle cx=\"650\" cy=\"460\" r=\"5\" fill=\"#E69F00\"/>"));
  CHECK(has("<circle cx=\"650\" cy=\"260\" r=\"5\" stroke=\"#E69F00\" class=\"other\"/>"));
  CHECK(has("<circle cx=\"90\" cy=\"60\" r=\"5\" fill=\"#0072B2\"/>"));
  CHECK(has(">100<"));
  CHECK(has(">5<"));
  CHECK(has("a &lt;problem&gt;"));
  CHECK(has(">4 devices<"));
}
