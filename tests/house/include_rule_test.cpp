// The include rule of src/README.md, read from its table: a room may include what its row lists, and
// whatever those may include.

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

namespace {

namespace fs = std::filesystem;
using Rooms = std::set<std::string>;
using Table = std::map<std::string, Rooms>;

const std::string kSource = penstock::support::checkout();

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The names in a cell such as "score, schedule", in which "all" and "all above" mean `above`.
Rooms named(const std::string& cell, const Rooms& above) {
  if (cell.starts_with("all")) return above;
  static const std::regex word("[a-z_]+");
  Rooms names;
  for (std::sregex_iterator it(cell.begin(), cell.end(), word), end; it != end; ++it) names.insert(it->str());
  return names;
}

/// Rows look like: | `room` | why | may include |. A row that names a room not above it throws.
Table parse_table(const std::string& readme) {
  static const std::regex row(R"(\| `([a-z_]+)/?` \|.*\| ([^|]*) \|)");
  Table table;
  Rooms above;
  std::smatch cell;
  for (const std::string& line : lines_of(readme)) {
    if (!std::regex_match(line, cell, row)) continue;
    Rooms reach = {cell[1]};
    for (const std::string& room : named(cell[2], above))
      reach.insert(table.at(room).begin(), table.at(room).end());
    table[cell[1]] = reach;
    above.insert(cell[1]);
  }
  return table;
}

/// "src/plan/violations.cpp" -> plan, "include/penstock/plan/plan.hpp" -> plan, "models/gpt.cpp" -> models.
std::string room_of(const std::string& path) {
  static const std::regex place(R"((?:src/|include/penstock/)([^/]+)/.*|(models)/.*)");
  std::smatch part;
  if (!std::regex_match(path, part, place)) return "";
  return part[1].matched ? part[1] : part[2];
}

/// Why the file `path` may not include `target`; empty when it may.
std::string objection(const Table& table, const std::string& path, const std::string& target) {
  static const std::regex inside("(?:penstock/([^/]+)|(models))/.*");
  static const std::regex kept_out(
      "(boost|tbb|oneapi|dnnl|omp|yaml-cpp|nlohmann|CLI|cuda|cudnn|cublas|nccl).*");
  const std::string room = room_of(path);
  std::smatch part;
  if (!table.contains(room)) return "the room '" + room + "' is not in the table of src/README.md";
  if (path.starts_with("include/") && std::regex_match(target, kept_out))
    return "a public header may not include " + target;
  if (target.find("../") != std::string::npos) return "include " + target + " by its full name";
  if (!std::regex_match(target, part, inside)) return "";
  const std::string wanted = part[1].matched ? part[1] : part[2];
  return table.at(room).contains(wanted) ? "" : room + " may not include " + wanted;
}

/// One "file:line: why" per forbidden include.
std::vector<std::string> offences(const Table& table, const std::string& path, const std::string& text) {
  static const std::regex include(R"(\s*#\s*include\s*["<]([^">]+)[">].*)");
  std::vector<std::string> found;
  std::smatch target;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (!std::regex_match(line, target, include)) continue;
    const std::string why = objection(table, path, target[1]);
    if (!why.empty()) found.push_back(path + ":" + std::to_string(number) + ": " + why);
  }
  return found;
}

Table house_table() {
  return parse_table(penstock::core::read_file(kSource + "/src/README.md"));
}

const std::string kToyTable =
    "| room | why it exists | may include |\n"
    "| --- | --- | --- |\n"
    "| `core` | units | - |\n"
    "| `models/` | the zoo | core |\n"
    "| `plan` | what | core |\n"
    "| `score` | worth | plan |\n"
    "| `sim` | events | plan |\n"
    "| `cli` | all of it | all |\n";

}  // namespace

TEST_CASE("the sources keep the include rule") {
  const Table table = house_table();
  std::size_t files = 0;
  for (const char* folder : {"src", "include", "models"})
    for (const auto& entry : fs::recursive_directory_iterator(kSource + "/" + folder)) {
      const std::string kind = entry.path().extension().string();
      if (kind != ".cpp" && kind != ".hpp" && kind != ".cu" && kind != ".cuh") continue;
      ++files;
      const std::string path = fs::relative(entry.path(), kSource).generic_string();
      for (const auto& offence : offences(table, path, penstock::core::read_file(entry.path().string())))
        FAIL_CHECK(offence);
    }
  CHECK(files > 50);
}

TEST_CASE("the verbs are blind to each other, and the simulator to the closed formulas") {
  const Table table = house_table();
  CHECK_FALSE(table.at("planners").contains("sim"));
  CHECK_FALSE(table.at("sim").contains("planners"));
  CHECK_FALSE(table.at("sim").contains("score"));
  CHECK_FALSE(table.at("replay").contains("sim"));
  CHECK_FALSE(table.at("replay").contains("score"));
  CHECK(table.at("planners").contains("score"));
  CHECK(table.at("kernels") == Rooms{"core", "graph", "kernels"});
  CHECK(table.at("core") == Rooms{"core"});
}

TEST_CASE("the verifier includes only options of a run from sim, and nothing from layout and program") {
  static const std::regex seen(
      R"x(#include "penstock/((?:layout|program)/.*|sim/(?!options|perturbation).*)")x");
  std::size_t files = 0;
  for (const char* folder : {"/src/check", "/include/penstock/check"})
    for (const auto& entry : fs::directory_iterator(kSource + folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      ++files;
      CAPTURE(entry.path().filename().string());
      for (const std::string& line : lines_of(penstock::core::read_file(entry.path().string())))
        if (std::regex_match(line, seen)) FAIL_CHECK(line);
    }
  CHECK(files > 5);
}

TEST_CASE("a table row reaches what its rooms reach, and only rooms above it") {
  const Table table = parse_table(kToyTable);
  CHECK(table.at("score") == Rooms{"core", "plan", "score"});
  CHECK(table.at("cli") == Rooms{"cli", "core", "models", "plan", "score", "sim"});
  CHECK_THROWS(parse_table("| `core` | units | plan |\n| `plan` | what | core |\n"));
}

TEST_CASE("an offending include is named with file and line") {
  const Table table = parse_table(kToyTable);
  const std::string text =
      "#include <vector>\n"
      "#include \"penstock/plan/plan.hpp\"\n"
      "#include \"events.hpp\"\n"
      "  #  include <penstock/score/estimate.hpp>  // no\n"
      "#include \"models/catalogue.hpp\"\n";
  CHECK(offences(table, "src/sim/simulate.cpp", text) ==
        std::vector<std::string>{"src/sim/simulate.cpp:4: sim may not include score",
                                 "src/sim/simulate.cpp:5: sim may not include models"});
  CHECK(offences(table, "src/cli/main.cpp", text).empty());
  CHECK(offences(table, "models/gpt.cpp", "#include \"penstock/plan/plan.hpp\"\n").size() == 1);
  CHECK(offences(table, "src/attic/x.cpp", "#include <vector>\n") ==
        std::vector<std::string>{"src/attic/x.cpp:1: the room 'attic' is not in the table of src/README.md"});
  CHECK(offences(table, "src/plan/x.cpp", "#include \"../sim/events.hpp\"\n").size() == 1);
}

TEST_CASE("heavy libraries stay out of public headers") {
  const Table table = parse_table(kToyTable);
  const std::string text = "#include <boost/graph/adjacency_list.hpp>\n#include \"yaml-cpp/yaml.h\"\n";
  CHECK(offences(table, "include/penstock/plan/plan.hpp", text).size() == 2);
  CHECK(offences(table, "src/plan/plan.cpp", text).empty());
}
