#include "penstock/report/profiled_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "comparison_parts.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"
#include "profiled_words.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

using ProfiledJson = nlohmann::ordered_json;

std::string causes_table(const ProfiledPlan& found, const ScreenLimits& screen) {
  if (found.causes.empty()) return "";
  const auto change = [](core::Seconds time) {
    return (time.value() < 0 ? "-" : "+") + core::show(core::Seconds(std::abs(time.value())));
  };
  Table table({{"iteration"}, {"time", Align::right}});
  table.add({"simulated", shown::time(found.comparison.iteration.simulated)});
  for (const IterationCause& cause : found.causes) table.add({cause.what, change(cause.time)});
  table.add({"measured", shown::time(found.comparison.iteration.measured)});
  return table.text(screen) + "\n";
}

std::string ranks_table(const ProfiledPlan& found, const ScreenLimits& screen) {
  const Align right = Align::right;
  Table table({{"rank", right},
               {"stages"},
               {"timed by", Align::left, 2},
               {"busy", right},
               {"simulated", right},
               {"error", right},
               {"idle", right},
               {"simulated", right},
               {"awaited", right, 1}});
  for (const trace::RankTimes& rank : found.run.ranks) {
    std::vector<std::size_t> stages;
    for (const core::StageId stage : found.run.simulated.devices[rank.device.index()].stages)
      stages.push_back(stage.index());
    table.add({std::to_string(rank.device.index()), fmt::format("{}", fmt::join(stages, ", ")),
               rank.on_gpu ? "kernels" : "host", shown::time(rank.compute.measured),
               shown::time(rank.compute.simulated), error_text(rank.compute), shown::time(rank.idle.measured),
               shown::time(rank.idle.simulated), shown::time(rank.awaited)});
  }
  return table.text(screen);
}

ProfiledJson ranks_json(const trace::ProfiledRun& run) {
  ProfiledJson out = ProfiledJson::array();
  for (const trace::RankTimes& rank : run.ranks)
    out.push_back({{"rank", rank.device.index()},
                   {"timed_by", rank.on_gpu ? "kernels" : "host"},
                   {"busy_s", pair_json(rank.compute)},
                   {"idle_s", pair_json(rank.idle)},
                   {"awaited_s", rank.awaited}});
  return out;
}

}  // namespace

std::string profiled_table(const ProfiledPlan& found, const ScreenLimits& screen) {
  std::string out = fmt::format("{}: {}\n\n", profiled_title(found), profiled_times(found)) +
                    causes_table(found, screen) + ranks_table(found, screen) + "\n" +
                    kinds_table(found.comparison, screen);
  for (const std::string& note : found.run.notes) out += "\nnote: " + note;
  return found.run.notes.empty() ? out : out + "\n";
}

std::string profiled_json(const ProfiledPlan& found, const Provenance& provenance) {
  ProfiledJson causes = ProfiledJson::array();
  for (const IterationCause& cause : found.causes)
    causes.push_back({{"what", cause.what}, {"time_s", cause.time.value()}});
  const ProfiledJson out = {{"provenance", ProfiledJson::parse(to_json(provenance))},
                            {"plan", found.plan},
                            {"step", found.run.step ? ProfiledJson(*found.run.step) : ProfiledJson()},
                            {"iteration_s", pair_json(found.comparison.iteration)},
                            {"causes", causes},
                            {"ranks", ranks_json(found.run)},
                            {"kinds", kinds_json(found.comparison)},
                            {"notes", found.run.notes}};
  return out.dump(2, ' ', false, ProfiledJson::error_handler_t::replace) + '\n';
}

}  // namespace penstock::report
