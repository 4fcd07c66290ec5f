#include "penstock/experiment/provenance.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/version.h>
#include <sys/utsname.h>

#include <boost/version.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "penstock/core/digest.hpp"
#include "penstock/core/files.hpp"
#include "version.hpp"

namespace penstock::experiment {
namespace {

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

std::string utc_time() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

const char *const kVersion = PENSTOCK_VERSION, *const kCommit = PENSTOCK_COMMIT;

report::Provenance provenance(const std::string& command) {
  report::Provenance out;
  const std::string described = kCommit;
  out.version = kVersion;
  out.dirty = described.ends_with("-dirty");
  out.commit = out.dirty ? described.substr(0, described.size() - 6) : described;
  out.command = command;
  out.date = utc_time();
  out.hardware = fmt::format("{}, {} threads", processor(), std::thread::hardware_concurrency());
#ifdef __clang__
  out.compiler = fmt::format("clang {}.{}", __clang_major__, __clang_minor__);
#else
  out.compiler = fmt::format("gcc {}.{}", __GNUC__, __GNUC_MINOR__);
#endif
  out.libraries = {{"boost", BOOST_LIB_VERSION},
                   {"tbb", fmt::format("{}.{}", TBB_VERSION_MAJOR, TBB_VERSION_MINOR)},
                   {"fmt", fmt::format("{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100)}};
  return out;
}

std::string program(const report::Provenance& provenance, const std::string& executable) {
  std::string out =
      fmt::format("penstock {} {} {}", provenance.version, provenance.commit, provenance.compiler);
  if (provenance.dirty || provenance.commit == "unknown")
    out += " executable " + core::digest(core::read_file(executable));
  return out;
}

}  // namespace penstock::experiment
