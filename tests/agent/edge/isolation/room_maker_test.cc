// A room is made for real, in namespaces of a child process.

#include "agent/edge/isolation/room_maker.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace muster::agent {
namespace {

class RoomMakerTest : public testing::Test {
 protected:
  RoomMakerTest() {
    char path[] = "/var/tmp/muster-room-XXXXXX";
    base_ = mkdtemp(path);
    for (const char* name : {"/grant", "/data", "/work"}) {
      std::filesystem::create_directory(base_ + name);
    }
    std::ofstream(base_ + "/data/secret") << "secret";
    host_.abilities.add(Ability::kMounts);
    host_.data_directory = base_ + "/data";
    host_.memory_mb = 8;
    request_.token = "1.1";
    request_.directory = base_ + "/work";
    request_.are_agents_own = true;
  }
  ~RoomMakerTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(base_, ignored);
  }

  /// "" if `looks` finds in the room what it should; else what it says.
  std::string in_room(const RoomPlan& plan, const std::function<std::string()>& looks) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string text = enter();
      if (text.empty()) {
        RoomMaker maker(has_own_mounts_);
        const Status made = maker.make(plan, std::nullopt);
        text = made ? looks() : "refused: " + made.error().text;
      }
      static_cast<void>(write(ends[1], text.data(), text.size()));
      _exit(0);
    }
    close(ends[1]);
    std::string text;
    char chunk[512];
    for (ssize_t got = 0; (got = read(ends[0], chunk, sizeof chunk)) > 0;) {
      text.append(chunk, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return text;
  }

  std::string enter() const {
    const int kind = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    return unshare(kind) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                   chdir((base_ + "/grant").c_str()) == 0
               ? ""
               : "no namespace";
  }

  static bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }
  static std::string names_in(const std::string& folder) {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names += entry.path().filename().string() + " ";
    }
    return names;
  }

  bool has_own_mounts_ = true;
  std::string base_;
  RoomHost host_;
  RoomRequest request_;
};

TEST_F(RoomMakerTest, RanksSeeTheirOwnDevAndTmpAndNoData) {
  std::ofstream("/tmp/muster-room-of-the-host") << "";
  const std::string text = in_room(plan_of_room(request_, host_), [&]() -> std::string {
    if (!names_in("/tmp").empty() || is_there(base_ + "/data/secret")) {
      return "sees " + names_in("/tmp") + names_in(base_ + "/data");
    }
    if (!is_there("/dev/null") || !is_there("/dev/fd/0") || is_there("/dev/kmsg")) {
      return "has /dev " + names_in("/dev");
    }
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    std::ofstream("/dev/shm/file") << "one";
    std::ofstream("/dev/null") << "two";
    return terminal >= 0 && is_there("/dev/shm/file") ? "" : "cannot use its /dev";
  });
  std::filesystem::remove("/tmp/muster-room-of-the-host");
  EXPECT_EQ(text, "");
  EXPECT_TRUE(is_there(base_ + "/data/secret")) << "outside nothing changed";
}

TEST_F(RoomMakerTest, TmpIsAsLargeAsTheMemoryAlsoForEmptyFiles) {
  request_.memory_mb = 1;
  EXPECT_EQ(in_room(plan_of_room(request_, host_),
                    []() -> std::string {
                      const std::string megabytes(2 << 20, 'x');
                      const int fd = open("/tmp/large", O_WRONLY | O_CREAT, 0600);
                      const ssize_t written = write(fd, megabytes.data(), megabytes.size());
                      int files = 0;
                      while (files < 5000 && Fd(open(("/dev/shm/" + std::to_string(files)).c_str(),
                                                     O_WRONLY | O_CREAT | O_CLOEXEC, 0600))
                                                 .is_open()) {
                        ++files;
                      }
                      return written <= 1 << 20 && files < 2000
                                 ? ""
                                 : std::to_string(written) + " bytes, " + std::to_string(files) +
                                       " files";
                    }),
            "");
}

TEST_F(RoomMakerTest, ADirectoryInTmpIsShownAndTheAgentsSocketToo) {
  char path[] = "/tmp/muster-work-XXXXXX";
  const std::string work = mkdtemp(path);
  std::ofstream(work + "/file") << "";
  std::ofstream(base_ + "/data/agent.sock") << "";
  request_.directory = work;
  host_.agent_socket = base_ + "/data/agent.sock";
  const std::string text = in_room(plan_of_room(request_, host_), [&] {
    return is_there(work + "/file") && is_there(host_.agent_socket) &&
                   !is_there(base_ + "/data/secret")
               ? std::string()
               : "sees " + names_in("/tmp");
  });
  std::filesystem::remove_all(work);
  EXPECT_EQ(text, "");
}

TEST_F(RoomMakerTest, NoLinkAndNoMissingFolderIsShown) {
  char path[] = "/tmp/muster-work-XXXXXX";
  const std::string work = mkdtemp(path);
  std::filesystem::create_directory(work + "/real");
  std::ofstream(work + "/real/file") << "";
  std::ofstream(work + "/plain") << "";
  std::filesystem::create_symlink(work + "/real", work + "/link");
  std::filesystem::create_symlink(base_ + "/data", work + "/data");
  const auto looks = [&] { return names_in("/tmp"); };
  const std::string deep(300, 'x');
  for (const std::string& name : {std::string("/link"), std::string("/data"), std::string("/plain"),
                                  std::string("/absent"), "/" + deep, std::string("/plain/x")}) {
    request_.directory = work + name;
    EXPECT_EQ(in_room(plan_of_room(request_, host_), looks), "") << name;
  }
  request_.directory = work + "/real";
  EXPECT_EQ(in_room(plan_of_room(request_, host_),
                    [&] { return std::string(is_there(work + "/real/file") ? "" : "not there"); }),
            "");
  std::filesystem::remove_all(work);
}

TEST_F(RoomMakerTest, AGpuWhoseNodeIsGoneRefusesTheRoom) {
  request_.gpus = {"GPU-a"};
  host_.gpus = {{"GPU-a", {"/dev/nvidia-is-gone", {195, 3}}}};
  EXPECT_EQ(in_room(plan_of_room(request_, host_), [] { return std::string(); }),
            "refused: show /dev/nvidia-is-gone as room.dev/nvidia-is-gone: No such file or "
            "directory");
}

TEST_F(RoomMakerTest, WithoutMountsOfItsOwnItTouchesNone) {
  has_own_mounts_ = false;
  EXPECT_EQ(in_room(plan_of_room(request_, host_), [] { return std::string(); }),
            "refused: its room needs namespaces of processes and mounts of its own, and this host "
            "denied one");
  host_.abilities = AbilitySet();
  EXPECT_EQ(in_room(plan_of_room(request_, host_), [] { return std::string(); }), "");
}

TEST_F(RoomMakerTest, AControlGroupThatCannotBeMadeRefusesIt) {
  host_.group_root = base_ + "/absent";
  const std::string text = in_room(plan_of_room(request_, host_), [] { return std::string(); });
  EXPECT_EQ(text, "refused: " + base_ + "/absent/1.1: No such file or directory");
}

}  // namespace
}  // namespace muster::agent
