#include "penstock/core/spelling.hpp"

#include <doctest/doctest.h>

using penstock::core::did_you_mean;
using penstock::core::did_you_mean_name;

TEST_CASE("a misspelt name is guessed by its letters, then by what it contains") {
  const std::vector<std::string> known = {"llama", "llama3-8b", "megatron", "mmt"};
  CHECK(did_you_mean("mtm", known) == "did you mean 'mmt'?");
  CHECK(did_you_mean("Megatron-LM", known).starts_with("expected one of "));
  CHECK(did_you_mean_name("mtm", known) == "did you mean 'mmt'?");
  CHECK(did_you_mean_name("Llama-3.1-8B", known) == "did you mean 'llama3-8b'?");
  CHECK(did_you_mean_name("meta-llama/Meta-Llama-3-8B", known) == "did you mean 'llama3-8b'?");
  CHECK(did_you_mean_name("Megatron-LM", known) == "did you mean 'megatron'?");
  CHECK(did_you_mean_name("resnet", {"mmt", "dlrm"}) == "expected one of mmt, dlrm");
  CHECK(did_you_mean_name("x", {}) == "expected one of ");
}
