#include "rank.hpp"

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock::cli {
namespace {

/// Value of the first variable that is set.
int number(std::initializer_list<const char*> variables, int least, int otherwise) {
  for (const char* variable : variables) {
    const char* given = std::getenv(variable);
    if (!given) continue;
    const std::string text = given;
    int out = -1;
    const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (fault != std::errc() || rest != text.data() + text.size() || out < least)
      throw core::BadInput(std::string(variable) + ": expected a process's number, found '" + text + "'");
    return out;
  }
  return otherwise;
}

}  // namespace

int process_rank() {
  const int rank = number({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}, 0, 0);
  // A number left behind in the environment, of a job that is not this one's: no process 0 would do the work.
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (std::getenv(variable) && rank >= process_count())
      throw core::BadInput(std::string(variable) + " is " + std::to_string(rank) + " of " +
                           std::to_string(process_count()) +
                           " processes: start Penstock by mpirun, or unset this variable");
  return rank;
}

int process_count() {
  return number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, 1, 1);
}

std::string process_job() {
  if (const char* name = std::getenv("PMIX_NAMESPACE")) return name;
  const char *job = std::getenv("SLURM_JOB_ID"), *step = std::getenv("SLURM_STEP_ID");
  return job && step ? std::string(job) + "." + step : "";
}

}  // namespace penstock::cli
