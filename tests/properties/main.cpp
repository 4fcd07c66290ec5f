// properties [--problems N] [--seed S] [--only NAME] [--out FOLDER] [--list]

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include "penstock/core/error.hpp"
#include "properties/shrink.hpp"

using namespace penstock;
using namespace penstock::properties;

namespace {

struct PropertyOptions {
  std::uint64_t problems = 300, seed = 1;
  std::string only, out = "properties_failures";
  bool list = false;
};

std::uint64_t number(const char* option, const char* text) {
  char* end = nullptr;
  const auto value = std::strtoull(text, &end, 10);
  if (*text == 0 || *end != 0)
    throw core::BadInput(fmt::format("{}: expected a whole number, not '{}'", option, text));
  return value;
}

PropertyOptions read(int argc, char** argv) {
  PropertyOptions out;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--list") {
      out.list = true;
      continue;
    }
    if (i + 1 == argc) throw core::BadInput(option + ": unknown, or expected a value");
    const char* value = argv[++i];
    if (option == "--problems")
      out.problems = number("--problems", value);
    else if (option == "--seed")
      out.seed = number("--seed", value);
    else if (option == "--only")
      out.only = value;
    else if (option == "--out")
      out.out = value;
    else
      throw core::BadInput(option + ": expected --problems N, --seed S, --only NAME, --out FOLDER or --list");
  }
  return out;
}

struct PropertyCount {
  std::uint64_t held = 0, failed = 0, unconcerned = 0;
  double seconds = 0;
};

/// The violation of a property; empty if the property does not concern this problem.
std::optional<std::string> checked(const BuiltProblem& world, const Property& property) {
  try {
    return property.check(world);
  } catch (const NotConcerned&) {
    return {};
  } catch (const std::exception& e) {
    return std::string("throws: ") + e.what();
  }
}

void report(const PropertyOptions& options, const ProblemSpec& spec, const Property& property,
            const std::string& failure) {
  fmt::print("FAILED {} seed {}: {}\n", property.name, spec.seed, failure);
  const ProblemSpec small = shrunk(spec, property);
  const BuiltProblem world(small);
  const std::string folder = fmt::format("{}/{}_{}", options.out, property.name, spec.seed);
  const std::string command = write_files(world, folder);
  fmt::print("  smaller: {} operators, {} devices, mini-batch {}: {}\n  {}\n", world.graph().size(),
             small.cluster.count(), small.training.mini_batch, failure_of(small, property), command);
  std::fflush(stdout);
}

int run(const PropertyOptions& options) {
  std::vector<Property> properties = all_properties();
  if (options.list) {
    for (const Property& p : properties) fmt::print("{:38} {}\n", p.name, p.meaning);
    return 0;
  }
  if (!options.only.empty()) {
    std::erase_if(properties, [&](const Property& p) { return p.name != options.only; });
    if (properties.empty()) throw core::BadInput("--only: there is no property " + options.only);
  }
  std::map<std::string, PropertyCount> counts;
  constexpr std::uint64_t kMostShrunk = 3;  // of one property: only its other failures are printed
  for (std::uint64_t seed = options.seed; seed < options.seed + options.problems; ++seed) {
    const ProblemSpec spec = random_problem(seed);
    const BuiltProblem world(spec);
    for (const Property& property : properties) {
      PropertyCount& count = counts[property.name];
      const auto begin = std::chrono::steady_clock::now();
      const auto failure = checked(world, property);
      count.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (!failure)
        ++count.unconcerned;
      else if (failure->empty())
        ++count.held;
      else if (++count.failed <= kMostShrunk)
        report(options, spec, property, *failure);
      else
        fmt::print("FAILED {} seed {}: {}\n", property.name, seed, *failure);
    }
  }
  std::uint64_t failed = 0, vacuous = 0;
  for (const Property& p : properties) {
    const PropertyCount& c = counts[p.name];
    fmt::print("{:38} {:6} held {:5} failed {:6} not concerned {:7.1f} s\n", p.name, c.held, c.failed,
               c.unconcerned, c.seconds);
    failed += c.failed > 0;
    vacuous += c.held + c.failed == 0;
  }
  fmt::print("{} problems from seed {}: {} properties hold, {} fail, {} concern none of them\n",
             options.problems, options.seed, properties.size() - failed - vacuous, failed, vacuous);
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read(argc, argv));
  } catch (const core::Error& e) {
    fmt::print(stderr, "properties: {}\n", e.what());
    return 10;
  }
}
