#include "failed_search.hpp"

#include "penstock/core/error.hpp"

namespace penstock::experiment {
namespace {

constexpr std::string_view kInterrupted = "interrupted", kMemoryFull = "memory full", kTimedOut = "timed out";

}  // namespace

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
    if (e.code() == core::ExitCode::limit) return std::string("limit: ") + e.what();
    if (e.code() == core::ExitCode::invalid_plan) return std::string("invalid plan: ") + e.what();
    throw;
  }
}

std::string_view limit_word(const core::LimitHit& limit) {
  if (dynamic_cast<const core::SearchEnded*>(&limit)) return kInterrupted;
  return dynamic_cast<const core::MemoryFull*>(&limit) ? kMemoryFull : kTimedOut;
}

std::string_view limit_word(core::StopToken stop) {
  if (stop.ended()) return kInterrupted;
  return stop.memory_full() ? kMemoryFull : kTimedOut;
}

}  // namespace penstock::experiment
