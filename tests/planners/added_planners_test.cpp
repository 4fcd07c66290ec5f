// Planners of the calling program are listed beside those of the catalogue.

#include <doctest/doctest.h>

#include <algorithm>

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
  CHECK(planners::added_planners().back() == "of_the_caller");  // other tests may have added some before
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

TEST_CASE("an added planner may be replaced, and have options with any text") {
  planners::add_planner({"renewed", "old", "", "", {}});
  const planners::PlannerInfo& before = planners::planner("renewed");
  planners::PlannerInfo info{"renewed", "new", "", "", {}};
  info.options.push_back({.name = "cut", .meaning = {}, .standard = "1", .free = "a whole number"});
  info.options.push_back({.name = "fast", .meaning = {}, .standard = "false", .values = {"false", "true"}});
  planners::replace_planner(info);
  CHECK(before.summary == "old");  // for searches under way
  CHECK(planners::planner("renewed").summary == "new");
  const auto names = planners::added_planners();
  CHECK(std::count(names.begin(), names.end(), "renewed") == 1);
  CHECK(planners::written(planners::planner_choice("renewed:cut=-7:fast=true")) ==
        "renewed:cut=-7:fast=true");
  CHECK(planners::allowed(info.options[0]) == "a whole number");
  CHECK_THROWS_WITH(planners::planner_choice("renewed:fast=yes"),
                    "renewed: fast: expected false, true, not 'yes'");
  CHECK_THROWS_WITH(planners::planner_choice("renewed:cuts=1"),
                    "renewed: unknown option 'cuts'; did you mean 'cut'?");
  CHECK_THROWS_AS(planners::replace_planner({"spp", "", "", "", {}}), core::BadInput);
}
