#include "penstock/cost/cold_share.hpp"

#include <algorithm>

namespace penstock::cost {

core::Seconds at_share(core::Seconds cold, core::Seconds back_to_back, double share) {
  return back_to_back + (cold - back_to_back) * share;
}

double cold_share(std::span<const ModelSum> models) {
  double products = 0, squares = 0;  // of how far the share reaches, and of how far it has to
  for (const ModelSum& run : models) {
    const core::Seconds whole = run.whole.median;
    const double reach = (run.cold_sum - run.back_to_back_sum) / whole;
    products += reach * ((whole - run.back_to_back_sum) / whole);
    squares += reach * reach;
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 1;
}

std::vector<HeldOutSum> held_out_sums(std::span<const ModelSum> models) {
  std::vector<HeldOutSum> out;
  for (const ModelSum& run : models) {
    std::vector<ModelSum> others;
    std::ranges::copy_if(models, std::back_inserter(others),
                         [&](const ModelSum& other) { return other.model != run.model; });
    const double share = cold_share(others);
    const core::Seconds sum = at_share(run.cold_sum, run.back_to_back_sum, share);
    out.push_back({share, sum, sum / run.whole.median - 1});
  }
  return out;
}

}  // namespace penstock::cost
