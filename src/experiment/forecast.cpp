#include "penstock/experiment/forecast.hpp"

#include "cache.hpp"
#include "penstock/core/digest.hpp"
#include "resolved.hpp"

namespace penstock::experiment {

std::vector<Forecast> forecast(const Spec& spec, const RunOptions& options) {
  const Cache cache(options.cache_folder());
  std::vector<Forecast> out;
  for (const Cell& cell : spec.cells) {
    const auto entry = cache.find(core::digest(resolved(spec, cell, options.program)));
    out.push_back({cell_name(cell), entry ? entry->row.status : "", cache.seconds(cell_name(cell))});
  }
  return out;
}

}  // namespace penstock::experiment
