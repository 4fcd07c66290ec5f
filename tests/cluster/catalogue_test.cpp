#include "penstock/cluster/catalogue.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

using namespace penstock;

TEST_CASE("every file of experiments/clusters is built in as it is") {
  std::map<std::string, std::string> files, built_in;
  for (const auto& entry : std::filesystem::directory_iterator(support::checkout("/experiments/clusters")))
    if (entry.path().extension() == ".yaml")
      files[entry.path().stem().string()] = core::read_file(entry.path().string());
  for (const cluster::BuiltIn& cluster : cluster::catalogue()) built_in[cluster.name] = cluster.text;
  CHECK(built_in == files);
}

TEST_CASE("a built-in cluster has a name and a sentence of description") {
  for (const cluster::BuiltIn& built_in : cluster::catalogue()) {
    CAPTURE(built_in.name);
    CHECK(cluster::load_cluster(built_in.name).name() == built_in.name);
    CHECK(built_in.summary().size() > 20);
    CHECK(built_in.summary().size() < 300);
    CHECK(!built_in.summary().ends_with('.'));
  }
  CHECK(cluster::BuiltIn{"a", "# One, of\n# two (5.1). And more.\nname: a\n"}.summary() ==
        "One, of two (5.1)");
  CHECK_THROWS_WITH_AS(cluster::load_cluster("sumit"),
                       "'sumit' is no built-in cluster (and no file: those have a '.' or a '/'; nor a short "
                       "form such as 8xH100x4); did "
                       "you mean 'summit'?",
                       core::BadInput);
  CHECK_THROWS_AS(cluster::load_cluster("./summit"), core::BadInput);
}
