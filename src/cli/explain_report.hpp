#pragma once
// What `simulate --explain` prints: where the time of an iteration goes.

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "penstock/report/lines.hpp"
#include "penstock/sim/explain.hpp"

namespace penstock::cli {

/// --explain [N].
class ExplainFlags {
 public:
  void add(CLI::App& command);
  bool given() const { return option_ && option_->count() > 0; }
  std::size_t entries() const { return entries_; }

 private:
  CLI::Option* option_ = nullptr;
  std::size_t entries_ = 20;
};

struct ExplainedRun {
  sim::Explanation explanation;
  std::size_t entries = 20;  ///< most lines of the path
};

/// Shares of the resources, then the critical path in at most so many lines.
std::string explain_table(const ExplainedRun& run, const report::Screen& screen);
nlohmann::ordered_json explain_json(const ExplainedRun& run);

}  // namespace penstock::cli
