// Planners of the calling program stand beside those of the catalogue.

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/planners/planner.hpp"

using namespace penstock;

TEST_CASE("a planner that was added is found by its name, and is not of the catalogue") {
  const std::size_t before = planners::catalogue().size();
  CHECK_THROWS_AS(planners::planner("of_the_caller"), core::BadInput);
  planners::PlannerInfo info{"of_the_caller", "one device", "here", "", {}};
  info.plan = planners::planner("single_device").plan;
  planners::add_planner(info);
  CHECK(planners::catalogue().size() == before);
  CHECK(planners::added_planners() == std::vector<std::string>{"of_the_caller"});
  CHECK(planners::is_added("of_the_caller"));
  CHECK_FALSE(planners::is_added("single_device"));
  const auto choice = planners::planner_choice("of_the_caller");
  CHECK(planners::written(choice) == "of_the_caller");
  CHECK_THROWS_WITH(planners::planner_choice("of_the_caller:flush=true"),
                    "of_the_caller has no options, not 'flush' either");
  CHECK_THROWS_WITH(planners::planner("of_the_calle"),
                    "unknown planner 'of_the_calle'; did you mean 'of_the_caller'?");
}

TEST_CASE("names that are taken, or cannot be written, are refused") {
  const auto refused = [](const std::string& name, const char* why) {
    CHECK_THROWS_WITH(planners::add_planner({name, "", "", "", {}}),
                      ("planner '" + name + "'" + why).c_str());
  };
  for (const auto& info : planners::catalogue())
    refused(info.name, ": Penstock has a planner of this name; choose another name");
  for (const char* name : {"", "all", "a:b", "a,b", "a b"})
    refused(name, ": expected a name of letters, digits and _ other than all");
  planners::add_planner({"twice", "", "", "", {}});
  refused("twice", " was added before");
}
