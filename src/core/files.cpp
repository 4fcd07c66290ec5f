#include "penstock/core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;  ///< bytes written to the system at once
constexpr std::string_view kPrefix = ".penstock-", kEnding = ".tmp";

/// Repeats the call while a signal interrupts it.
template <class Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

std::string reason(int fault) {
  return std::generic_category().message(fault);
}

/// True for a device or a pipe, such as /dev/stdout.
bool is_special(const fs::path& path) {
  std::error_code fault;
  const fs::file_status status = fs::status(path, fault);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// Target of a link, whether it exists or not; the path itself if it is no link, or if links form a circle.
std::string behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // limit of Linux
  std::error_code fault;
  fs::path at = path;
  for (int links = 0; fs::is_symlink(at, fault); ++links) {
    const fs::path target = fs::read_symlink(at, fault);
    if (fault || links == kMostLinks) return path;
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return at.string();
}

/// Returns a name such as ".penstock-123-89abcdef01234567.tmp": short, however long the final name is.
std::string temporary_beside(const std::string& path) {
  std::random_device random;
  return (fs::path(path).parent_path() /
          fmt::format("{}{}-{:08x}{:08x}{}", kPrefix, getpid(), random(), random(), kEnding))
      .string();
}

/// Process that created the temporary file of that name; 0 if it is no temporary file.
pid_t maker(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (!name.starts_with(kPrefix) || !name.ends_with(kEnding)) return 0;
  name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
  pid_t id = 0;
  const auto [rest, fault] = std::from_chars(name.data(), name.data() + name.size(), id);
  name.remove_prefix(static_cast<std::size_t>(rest - name.data()));
  const bool ours = fault == std::errc() && id > 0 && name.starts_with('-') && name.size() == 1 + kDigits &&
                    name.find_first_not_of("0123456789abcdef", 1) == name.npos;
  return ours ? id : 0;
}

/// True while the process may still write. A zombie counts as dead: it writes no more, and stays for ever if
/// the first process of a container waits for no child.
bool lives(pid_t id) {
  if (kill(id, 0) != 0 && errno == ESRCH) return false;
  std::ifstream status(fmt::format("/proc/{}/stat", id));
  std::string text((std::istreambuf_iterator<char>(status)), {});
  const std::size_t name_end = text.rfind(')');  // a name may hold anything
  return name_end == text.npos || text.compare(name_end, 3, ") Z") != 0;
}

/// Flushes the folder, so that a crash of the machine does not undo the renaming. Does nothing if the folder
/// cannot be opened for reading.
int sync_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  FileDescriptor opened;
  opened.value = uninterrupted(
      [&] { return open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (opened.value < 0) return errno == EACCES ? 0 : errno;
  return fsync(opened.value) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (value >= 0) close(value);
}

TemporaryFile::~TemporaryFile() {
  if (!path.empty()) std::remove(path.c_str());
}

FileWriter::FileWriter(std::string path) : path_(std::move(path)), target_(behind_links(path_)) {
  if (is_special(path_)) {
    open_special();
    return;
  }
  std::error_code fault;
  const fs::path folder = fs::path(target_).parent_path();
  if (!folder.empty()) fs::create_directories(folder, fault);
  if (fault) fail(fault.value());
  open_temporary();
}

void FileWriter::open_special() {
  file_.value = uninterrupted([&] { return open(path_.c_str(), O_WRONLY | O_CLOEXEC); });
  if (file_.value < 0) fail(errno);
}

/// Keeps the file locked while it is written, so that is_left_behind does not report it.
void FileWriter::open_temporary() {
  constexpr mode_t kNew = 0666, kModes = 0777;
  struct stat old {};
  const bool replaces = stat(target_.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  const mode_t mode = replaces ? old.st_mode & kModes : kNew;
  std::string name = temporary_beside(target_);
  file_.value = uninterrupted(
      [&] { return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode); });
  if (file_.value < 0) fail(errno);
  temporary_.path.swap(name);
  flock(file_.value, LOCK_EX | LOCK_NB);  // without locks in the file system, the process's number must do
  if (replaces && fchmod(file_.value, mode) != 0) fail(errno);
}

void FileWriter::write(std::string_view piece) {
  waiting_ += piece;
  if (waiting_.size() >= kPiece) flush();
}

void FileWriter::flush() {
  for (std::string_view rest = waiting_; !rest.empty();) {
    const ssize_t written = uninterrupted([&] { return ::write(file_.value, rest.data(), rest.size()); });
    if (written <= 0) fail(written < 0 ? errno : EIO);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  waiting_.clear();
}

void FileWriter::commit() {
  flush();
  if (!temporary_.path.empty() && fsync(file_.value) != 0 && errno != EINVAL) fail(errno);
  if (close(std::exchange(file_.value, -1)) != 0 && errno != EINTR) fail(errno);
  if (temporary_.path.empty()) return;
  if (std::rename(temporary_.path.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.path.clear();
  if (const int fault = sync_folder(target_)) fail(fault);
}

void FileWriter::fail(int fault) const {
  throw BadInput("cannot write file '" + path_ + "': " + reason(fault));
}

void write_file(const std::string& path, std::string_view content) {
  FileWriter file(path);
  file.write(content);
  file.commit();
}

bool is_left_behind(const std::string& path) {
  const pid_t id = maker(fs::path(path).filename().string());
  if (id == 0 || lives(id)) return false;
  FileDescriptor file;
  file.value = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  // Locked by no process, on this machine or another
  return file.value >= 0 && flock(file.value, LOCK_EX | LOCK_NB) == 0;
}

TemporaryFolder::TemporaryFolder(const std::string& beside) : path_(temporary_beside(beside)) {
  constexpr mode_t kOwner = 0700;
  std::error_code fault;
  const fs::path above = fs::path(path_).parent_path();
  if (!above.empty()) fs::create_directories(above, fault);
  if (!fault && mkdir(path_.c_str(), kOwner) != 0) fault.assign(errno, std::generic_category());
  if (fault) throw BadInput("cannot make a folder beside '" + beside + "': " + fault.message());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

namespace {

constexpr int kForEver = -1, kMoment = 500;  ///< ms

/// Waits for data or for the end of the file, `longest` ms at most.
void await_data(int file, int longest) {
  pollfd awaited{file, POLLIN, 0};
  uninterrupted([&] { return poll(&awaited, 1, longest); });
}

/// Reads as from a file whose open waited for its writers.
ssize_t read_some(int file, char* to, std::size_t room) {
  for (;;) {
    const ssize_t got = uninterrupted([&] { return read(file, to, room); });
    if (got >= 0 || errno != EAGAIN) return got;
    await_data(file, kForEver);
  }
}

}  // namespace

/// Opening a pipe waits for its writer, who may never come; so this gives up after kMoment.
std::string read_file(const std::string& path, std::size_t most) {
  const auto refuse = [&](const std::string& why) {
    throw BadInput("cannot read file '" + path + "': " + why);
  };
  FileDescriptor file;
  file.value = uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); });
  struct stat about {};
  if (file.value < 0 || fstat(file.value, &about) != 0) refuse(reason(errno));
  if (S_ISDIR(about.st_mode)) refuse("it is a folder");
  const bool pipe = S_ISFIFO(about.st_mode);
  if (pipe) await_data(file.value, kMoment);
  const auto expected = static_cast<std::size_t>(std::max<off_t>(about.st_size, 0));  // 0 for a pipe
  std::string text(std::min(expected, most) + 1, '\0');
  std::size_t filled = 0;
  for (ssize_t got = 1; got > 0; filled += static_cast<std::size_t>(got)) {
    if (std::max(filled, expected) > most) refuse(fmt::format("it is larger than {} MiB", most >> 20));
    if (filled == text.size()) text.resize(filled + kPiece);
    got = read_some(file.value, text.data() + filled, text.size() - filled);
    if (got < 0) refuse(reason(errno));
  }
  if (pipe && filled == 0) refuse("it is a pipe that nobody writes to");
  text.resize(filled);
  return text;
}

}  // namespace penstock::core
