#include "penstock/experiment/forecast.hpp"

#include "cache.hpp"
#include "penstock/core/digest.hpp"
#include "resolved.hpp"
#include "selection.hpp"

namespace penstock::experiment {

std::vector<CellForecast> forecast(const Spec& spec, const RunOptions& options) {
  const CellCache cache(options.cache_folder());
  const std::vector<bool> wanted = fitting(options.only, spec.cells);
  std::vector<CellForecast> out;
  for (std::size_t i = 0; i < spec.cells.size(); ++i) {
    if (!wanted[i]) continue;
    const Cell& cell = spec.cells[i];
    const auto entry = cache.find(core::digest(resolved(spec, cell, options.program)));
    out.push_back({cell_name(cell), entry ? entry->row.status : "", !entry || !lasting(entry->row),
                   cache.seconds(cell_name(cell))});
  }
  return out;
}

}  // namespace penstock::experiment
