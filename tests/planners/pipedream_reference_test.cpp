// Against the answers of PipeDream's public optimizer on its authors' profiles: every states file and every
// row there is.

#include "support/pipedream_reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "support/reference_data.hpp"

using namespace penstock;
using namespace penstock::support;

namespace {

constexpr std::size_t kMostStates = 4096;
constexpr double kTolerance =
    1e-12;  // the reference sums in the order of addresses, and agrees with itself to 1e-14

bool close(double ours, double theirs) {
  return std::abs(ours - theirs) <= kTolerance * std::max(std::abs(ours), std::abs(theirs));
}

struct PublishedProfile {
  explicit PublishedProfile(const std::string& folder)
      : graph(graph::load_pipedream_graph(folder + "/graph.txt")),
        layers(pipedream_layers(graph)),
        states(planners::antichain_states(layers.graph, kMostStates).value()) {}

  std::set<std::string> names(const planners::LayerSet& set) const {
    std::set<std::string> out;
    for (std::size_t v = set.find_first(); v != planners::LayerSet::npos; v = set.find_next(v))
      out.insert(graph.nodes[layers.nodes[v]].id);
    return out;
  }

  graph::PipedreamGraph graph;
  PipedreamLayers layers;
  std::vector<planners::CutState> states;
};

std::set<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> out;
  for (std::string word; in >> word;) out.insert(word);
  return out;
}

void check_state(const PublishedProfile& profile, std::size_t s, const CsvRow& row) {
  CAPTURE(s);
  const planners::CutState& state = profile.states[s];
  CHECK(std::stoul(row.at("state")) == s);
  CHECK(profile.names(state.frontier) == words(row.at("augmented_antichain")));
  CHECK(close(state.output, std::stod(row.at("output_activation_bytes"))));
  CHECK(close(state.compute, std::stod(row.at("prefix_compute_s"))));
  CHECK(close(state.activation, std::stod(row.at("prefix_activation_bytes"))));
  CHECK(close(state.parameters, std::stod(row.at("prefix_parameter_bytes"))));
  const auto next = numbers(row.at("direct_successors"));
  CHECK(std::set<double>(next.begin(), next.end()) == std::set<double>(state.next.begin(), state.next.end()));
}

void check_row(const PublishedProfile& profile, const CsvRow& row) {
  CAPTURE(row.at("levels_innermost_first"));
  CAPTURE(row.at("bandwidths_Bps_innermost_first"));
  CAPTURE(row.at("flags"));
  const auto levels = reference_levels(row);
  const auto rules = reference_rules(row, profile.states);
  const auto found = planners::pipedream_search(profile.states, levels, rules);
  REQUIRE(found);
  CHECK(std::stoul(row.at("states")) == profile.states.size());
  CHECK(close(found->seconds, std::stod(row.at("pred_time_per_batch_s"))));
  const double limit = rules.fits ? std::stod(row.at("memory_size")) : 0;
  CHECK(close(PlanRecost{profile.layers.graph, profile.states, levels, rules, limit}(found->stages),
              found->seconds));
}

/// Rows of profiles with this many states, which are what a search takes long for.
void check_rows(std::size_t least_states, std::size_t most_states) {
  const std::string folder = reference_data("pipedream/expected");
  if (folder.empty()) return;
  std::map<std::string, PublishedProfile> profiles;
  int checked = 0;
  for (const CsvRow& row : read_csv(folder + "/optimizer_results.csv")) {
    const std::string& name = row.at("profile");
    CAPTURE(name);
    REQUIRE(row.at("status") == "ok");
    const std::size_t states = std::stoul(row.at("states"));
    if (states < least_states || states > most_states) continue;
    check_row(profiles.try_emplace(name, folder + "/../" + name).first->second, row);
    ++checked;
  }
  CHECK(checked > 0);
}

}  // namespace

TEST_CASE("states and their order are those of PipeDream") {
  const std::string folder = reference_data("pipedream/expected");
  if (folder.empty()) return;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with("states_")) continue;
    CAPTURE(name);
    const PublishedProfile profile(folder + "/../" + name.substr(7));
    const auto rows = read_csv(entry.path().string());
    REQUIRE(rows.size() == profile.states.size());
    for (std::size_t s = 0; s < rows.size(); ++s) check_state(profile, s, rows[s]);
    ++files;
  }
  CHECK(files > 0);
}

TEST_CASE("answers of PipeDream's optimizer are met, and the plan found is worth it") {
  check_rows(1, 300);
}

TEST_CASE("answers of PipeDream's optimizer on deep networks" * doctest::test_suite("slow")) {
  check_rows(301, kMostStates);
}
