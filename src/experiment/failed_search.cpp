#include "failed_search.hpp"

#include "penstock/core/error.hpp"
#include "penstock/core/stop.hpp"

namespace penstock::experiment {

std::string no_plan_status() {
  try {
    throw;
  } catch (const core::Infeasible& e) {
    return std::string("infeasible: ") + e.what();
  } catch (const core::TimedOut& e) {
    return std::string("timed out: ") + e.what();
  } catch (const core::MemoryFull& e) {
    return std::string("memory full: ") + e.what();
  } catch (const core::Error& e) {
    if (e.code() != core::ExitCode::limit) throw;
    return std::string("limit: ") + e.what();
  }
}

}  // namespace penstock::experiment
