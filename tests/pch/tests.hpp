// Common headers of most tests, compiled once: reading them takes half of a test's compile time. Every test
// still includes the headers of names it uses.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"
