#include "added_planners.hpp"

#include <algorithm>
#include <cctype>
#include <list>
#include <mutex>

namespace penstock::planners {
namespace {

/// Entries keep their address; the last one of a name is valid.
struct AddedPlanners {
  std::mutex mutex;
  std::list<PlannerInfo> infos;
};

AddedPlanners& added() {
  static AddedPlanners out;
  return out;
}

const PlannerInfo* find_in(const std::list<PlannerInfo>& infos, std::string_view name) {
  for (auto info = infos.rbegin(); info != infos.rend(); ++info)
    if (info->name == name) return &*info;
  return nullptr;
}

/// Commas and colons separate planners and options; "all" means every planner.
void check_name(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (name.empty() || !std::ranges::all_of(name, plain) || name == "all")
    throw core::BadInput("planner '" + name + "': expected a name of letters, digits and _ other than all");
  if (std::ranges::count(catalogue(), name, &PlannerInfo::name) > 0)
    throw core::BadInput("planner '" + name + "': Penstock has a planner of this name; choose another name");
}

}  // namespace

const PlannerInfo* find_added(std::string_view name) {
  AddedPlanners& all = added();
  const std::lock_guard lock(all.mutex);
  return find_in(all.infos, name);
}

void add_planner(PlannerInfo info) {
  check_name(info.name);
  AddedPlanners& all = added();
  const std::lock_guard lock(all.mutex);
  if (find_in(all.infos, info.name)) throw core::BadInput("planner '" + info.name + "' was added before");
  all.infos.push_back(std::move(info));
}

void replace_planner(PlannerInfo info) {
  check_name(info.name);
  AddedPlanners& all = added();
  const std::lock_guard lock(all.mutex);
  all.infos.push_back(std::move(info));
}

std::vector<std::string> added_planners() {
  AddedPlanners& all = added();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> out;
  for (const PlannerInfo& info : all.infos)
    if (std::ranges::find(out, info.name) == out.end()) out.push_back(info.name);
  return out;
}

bool is_added(std::string_view name) {
  return find_added(name) != nullptr;
}

}  // namespace penstock::planners
