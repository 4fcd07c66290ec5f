#include "penstock/report/pareto.hpp"

#include <algorithm>

namespace penstock::report {
namespace {

bool no_larger(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] > b[i]) return false;
  return true;
}

}  // namespace

std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points) {
  std::vector<std::size_t> out;
  for (std::size_t p = 0; p < points.size(); ++p) {
    bool beaten = false;
    for (std::size_t other = 0; other < points.size() && !beaten; ++other)
      beaten = points[other] == points[p] ? other < p : no_larger(points[other], points[p]);
    if (!beaten) out.push_back(p);
  }
  return out;
}

}  // namespace penstock::report
