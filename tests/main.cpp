#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/skip.hpp"

int main(int argc, char** argv) {
  const int status = doctest::Context(argc, argv).run();
  penstock::support::tell_skipped();
  return status;
}
