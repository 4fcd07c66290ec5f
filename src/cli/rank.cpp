#include "rank.hpp"

#include <charconv>
#include <cstdlib>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock::cli {

int process_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* given = std::getenv(variable);
    if (!given) continue;
    const std::string text = given;
    int rank = -1;
    const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (fault != std::errc() || rest != text.data() + text.size() || rank < 0)
      throw core::BadInput(std::string(variable) + ": expected a process's number, found '" + text + "'");
    return rank;
  }
  return 0;
}

}  // namespace penstock::cli
