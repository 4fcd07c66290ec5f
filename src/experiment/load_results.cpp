#include "penstock/experiment/load_results.hpp"

#include <filesystem>

#include "penstock/core/files.hpp"

namespace penstock::experiment {

report::Results load_results(const std::string& folder) {
  const std::string results = folder + "/results.json", timings = folder + "/timings.csv",
                    provenance = folder + "/provenance.json";
  report::Results out = report::parse_results(core::read_file(results), results);
  if (std::filesystem::exists(timings)) report::add_columns(out.rows, core::read_file(timings), timings);
  if (out.provenance.version.empty())
    out.provenance = report::parse_provenance(core::read_file(provenance), provenance);
  return out;
}

}  // namespace penstock::experiment
