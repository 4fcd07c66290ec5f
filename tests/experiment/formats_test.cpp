// docs/formats: every example is read by the program's own readers, and no key or column is left out.

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/files.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/profile.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/rl_job.hpp"
#include "penstock/experiment/schedule_study.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/report/published_runs.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "penstock/sim/perturbation.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

std::string page(const std::string& name) {
  return core::read_file(support::checkout("/docs/formats/" + name + ".md"));
}

/// Texts between ```LANGUAGE and ```, for languages of files.
std::vector<std::string> examples(const std::string& name) {
  const std::string text = page(name);
  const std::regex fence("```(json|yaml|csv)\n([^`]*)```");
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), fence), end; at != end; ++at)
    out.push_back((*at)[2]);
  REQUIRE_MESSAGE(!out.empty(), name, ".md has no example");
  return out;
}

/// Paths in examples are those of a file in experiments/.
const std::string kPlace = support::checkout("/experiments/example.yaml");

/// All words in double quotes inside `only({...})` of a source file: the keys that a reader takes.
std::set<std::string> keys(const std::string& source) {
  const std::string text = core::read_file(support::checkout(source));
  const std::regex list("only\\(\\s*\\{([^}]*)\\}"), word("\"([^\"]+)\"");
  std::set<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), list), end; at != end; ++at) {
    const std::string inside = (*at)[1];
    for (std::sregex_iterator key(inside.begin(), inside.end(), word); key != end; ++key)
      out.insert((*key)[1]);
  }
  REQUIRE_MESSAGE(!out.empty(), source, " reads no keys");
  return out;
}

/// All words in double quotes of a source file's calls of `call("word"`.
std::set<std::string> first_words(const std::string& source, const std::string& call) {
  const std::string text = core::read_file(support::checkout(source));
  const std::regex calls(call + "\\((?:[a-z_.]+, )?\"([a-z_]+)\"");
  std::set<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), calls), end; at != end; ++at) out.insert((*at)[1]);
  REQUIRE_MESSAGE(!out.empty(), source, " has no ", call);
  return out;
}

/// A word counts as documented if it is in `code`, by itself or among others.
void check_told(const std::string& name, const std::set<std::string>& words) {
  const std::string text = page(name);
  for (const std::string& word : words) {
    CAPTURE(word);
    const std::regex told("`[^`\n]*\\b" + word + "\\b[^`\n]*`");
    CHECK_MESSAGE(std::regex_search(text, told), "docs/formats/", name, ".md does not tell ", word);
  }
}

}  // namespace

TEST_CASE("every example of a model is read, and written again") {
  for (const std::string& text : examples("model")) {
    const auto graph = graph::parse_graph(text, "model.md");
    CHECK(graph.size() > 0);
    CHECK(graph::to_json(graph::parse_graph(graph::to_json(graph), "again")) == graph::to_json(graph));
  }
}

TEST_CASE("every example of a model reference is built, with its parameters") {
  for (const std::string& text : examples("model_reference")) {
    const auto model = frameworks::parse_model_reference(text, "model_reference.md").model;
    CHECK(frameworks::is_model_reference(text));
    CHECK(text.find(std::to_string(experiment::load_model(model).parameters()) + " parameters") != text.npos);
  }
}

TEST_CASE("every example of a cluster is read") {
  for (const std::string& text : examples("cluster"))
    CHECK(cluster::parse_cluster(text, "cluster.md").size() > 0);
}

TEST_CASE("every example of a perturbation fits the cluster of its names") {
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  for (const std::string& text : examples("perturbation")) {
    const auto perturbation = sim::parse_perturbation(text, "perturbation.md", cluster);
    CHECK(perturbation.jitter.size() == 3);
  }
}

TEST_CASE("every example of a plan is valid") {
  for (const std::string& text : examples("plan")) {
    const auto head = plan::parse_plan_head(text, kPlace);
    const auto graph = experiment::load_model(head.model);
    const auto plan = plan::parse_plan(text, kPlace, graph);
    const auto cluster = cluster::load_cluster(head.cluster.name);
    std::string violations;
    for (const auto& violation :
         plan::structural_violations(graph, cluster.first(head.cluster.devices), plan))
      violations += violation + "\n";
    CHECK_MESSAGE(violations.empty(), violations);
  }
}

TEST_CASE("every example of an experiment has cells") {
  for (const std::string& text : examples("experiment")) {
    if (experiment::is_schedule_study(text, kPlace))
      CHECK(!experiment::parse_schedule_study(text, kPlace).cells.empty());
    else
      CHECK(!experiment::parse_spec(text, kPlace).cells.empty());
  }
}

TEST_CASE("every example of a reinforcement-learning job is read") {
  for (const std::string& text : examples("rl_job"))
    CHECK(experiment::read_rl_job(core::Yaml::parse(text, "rl_job.md")).samples > 0);
}

TEST_CASE("every example of a schedule runs") {
  for (const std::string& text : examples("schedule")) {
    const auto schedule = schedule::parse_schedule(text, "schedule.md");
    CHECK(schedule.ranks.size() == 2);
    CHECK(schedule::schedule_violations(schedule, 2).empty());
  }
}

TEST_CASE("every example of a profile is read") {
  for (const std::string& text : examples("profile"))
    CHECK(!cost::parse_profile(text, "profile.md").entries().empty());
}

TEST_CASE("every example of kernel tables is read") {
  for (const std::string& text : examples("kernel_tables"))
    CHECK(!cost::parse_kernel_tables(text, "kernel_tables.md").products().empty());
}

TEST_CASE("every example of published runs is read") {
  for (const std::string& text : examples("published_runs"))
    CHECK(report::parse_published_runs(text, "published_runs.md").size() == 1);
}

TEST_CASE("every key that a reader takes is documented on its page") {
  const std::map<std::string, std::vector<std::string>> readers = {
      {"model", {"/src/graph/graph_file.cpp"}},
      {"model_reference", {"/src/frameworks/model_reference.cpp"}},
      {"cluster", {"/src/cluster/cluster_file.cpp"}},
      {"perturbation", {"/src/sim/perturbation_file.cpp", "/src/sim/lengths_file.cpp"}},
      {"plan", {"/src/plan/plan_file.cpp"}},
      {"rl_job", {"/src/experiment/rl_job.cpp"}},
      {"experiment",
       {"/src/experiment/spec.cpp", "/src/experiment/axes.cpp", "/src/experiment/claims_file.cpp",
        "/src/experiment/schedule_study.cpp"}},
      {"kernel_tables", {"/src/cost/kernel_tables_file.cpp"}},
      {"profile", {"/src/cost/profile.cpp", "/src/cost/profile_workload.cpp"}},
      {"calibration", {"/src/cost/calibration_file.cpp"}}};
  for (const auto& [name, sources] : readers)
    for (const std::string& source : sources) check_told(name, keys(source));
}

TEST_CASE("every kind of operator and every column of results is documented") {
  std::set<std::string> kinds;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(graph::OpKind::experts); ++k)
    kinds.emplace(graph::name(static_cast<graph::OpKind>(k)));
  check_told("model", kinds);
  check_told("results", first_words("/src/report/columns.hpp", "(?:visit|in)"));
  check_told("results", first_words("/src/report/replay_rows.cpp", "visit"));
}
