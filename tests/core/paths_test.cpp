#include "penstock/core/paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "penstock/core/files.hpp"
#include "support/scratch.hpp"

using namespace penstock;
namespace fs = std::filesystem;

namespace {

/// Changes the current folder until it is destroyed.
class FolderChange {
 public:
  explicit FolderChange(const std::string& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~FolderChange() { fs::current_path(before_); }
  FolderChange(const FolderChange&) = delete;
  FolderChange& operator=(const FolderChange&) = delete;

 private:
  fs::path before_;
};

}  // namespace

TEST_CASE("a path in a file leads from the file's folder, or the nearest above that has it") {
  const support::ScratchFolder scratch("paths");
  const std::string file = scratch.path("a/b/plan.yaml");
  core::write_file(file, "");
  core::write_file(scratch.path("clusters/c.yaml"), "far");
  const auto content = [&](const std::string& name) { return core::read_file(core::path_from(file, name)); };
  CHECK(content("clusters/c.yaml") == "far");
  core::write_file(scratch.path("a/clusters/c.yaml"), "near");
  CHECK(content("clusters/c.yaml") == "near");
  core::write_file(scratch.path("a/b/clusters/c.yaml"), "beside");
  CHECK(content("clusters/c.yaml") == "beside");
  CHECK(content("../clusters/c.yaml") == "near");
  CHECK(content(scratch.path("clusters/c.yaml")) == "far");
  CHECK(core::path_from(file, "none.yaml") == scratch.path("a/b/none.yaml"));
  CHECK(core::path_from("plan.yaml", "none.yaml") == "none.yaml");
}

TEST_CASE("a path written into a file is found again from it, from any current folder") {
  const support::ScratchFolder scratch("paths");
  core::write_file(scratch.path("here/c.yaml"), "mine");
  core::write_file(scratch.path("here/there/c.yaml"), "another");
  const FolderChange standing(scratch.path("here"));
  for (const char* file : {"plan.yaml", "out/deep/plan.yaml", "there/plan.yaml", "../beside/plan.yaml"}) {
    CAPTURE(file);
    const std::string name = core::path_for(file, "c.yaml");
    const std::string whole = fs::absolute(file).lexically_normal().string();
    const FolderChange elsewhere(scratch.path("here/there"));
    CHECK(core::read_file(core::path_from(whole, name)) == "mine");
  }
  CHECK(core::path_for("plan.yaml", "c.yaml") == "c.yaml");
  CHECK(core::path_for("out/plan.yaml", "c.yaml") == "c.yaml");
  CHECK(core::path_for("there/plan.yaml", "c.yaml") == scratch.path("here/c.yaml"));
  CHECK(core::path_for("plan.yaml", "none.yaml") == "none.yaml");
}
